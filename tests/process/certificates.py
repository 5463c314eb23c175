"""Certificates for tests, made by the openssl command: with short keys, which take no time."""

import subprocess

from lines import DEADLINE

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr


class Certificate:
    """A certificate and its key, as files: .crt, .key."""

    def __init__(self, directory, name):
        self.crt, self.key = directory / f"{name}.crt", directory / f"{name}.key"


class Authority(Certificate):
    """One that issues certificates."""

    def __init__(self, directory, name="ca"):
        super().__init__(directory, name)
        self.directory = directory
        openssl("req", "-x509", *KEY, "-days", 2, "-subj", f"/CN=Authority {name}", "-keyout", self.key, "-out", self.crt,
                "-addext", "basicConstraints=critical,CA:TRUE")

    def issue(self, name, names="IP:127.0.0.1", days=None, usage=None):
        """For these names, from now on; or from one day to another, as 20200101."""
        made = Certificate(self.directory, name)
        extensions = ["basicConstraints=critical,CA:FALSE"]
        extensions += [f"subjectAltName={names}"] if names else []
        extensions += [f"extendedKeyUsage={usage}"] if usage else []
        if days:
            self.issue_between(made, name, extensions, days)
        else:
            openssl("req", "-x509", *KEY, "-days", 2, "-subj", f"/CN={name}", "-CA", self.crt, "-CAkey", self.key,
                    "-keyout", made.key, "-out", made.crt,
                    *(word for extension in extensions for word in ("-addext", extension)))
        return made

    def issue_between(self, made, name, extensions, days):
        """Only `openssl ca` can say when it begins, and it wants a database for that."""
        work = self.directory / f"{name}.work"
        work.mkdir()
        (work / "index").touch()
        (work / "config").write_text("\n".join([
            "[ca]", "default_ca = own", "[own]", f"database = {work}/index", f"new_certs_dir = {work}",
            "rand_serial = yes", "default_md = sha256", "policy = any", "x509_extensions = extensions",
            "[any]", "commonName = supplied", "[extensions]", *extensions, ""]))
        openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", made.key, "-out", work / "csr")
        openssl("ca", "-batch", "-notext", "-config", work / "config", "-cert", self.crt, "-keyfile", self.key,
                "-startdate", f"{days[0]}000000Z", "-enddate", f"{days[1]}000000Z", "-in", work / "csr", "-out", made.crt)
