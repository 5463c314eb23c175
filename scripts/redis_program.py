"""Which Redis the demo, the tests and bench/fleet start.

$BERTH_REDIS_SERVER names another server's program, as a path or as a name to be found in $PATH, such
as valkey-server. The others of that server, such as valkey-cli, are where it is."""

import os
import shutil

REDIS_SERVER = os.environ.get("BERTH_REDIS_SERVER") or "redis-server"


def redis_program(kind):
    """The path or name of another program of that server: "cli", say."""
    directory, name = os.path.split(REDIS_SERVER)
    return os.path.join(directory, f"{name.removesuffix('-server')}-{kind}")


def there_is_a_redis():
    return shutil.which(REDIS_SERVER) is not None
