/* tls_context.c - the files of a [redis] section: whom we trust, who we are. They are read whole,
 * and bounded, before the library sees them, so that neither a FIFO nor a giant holds anybody up.
 */
#include "base/memory.h"
#include "conf/redis_url.h"
#include "redis/secret.h"
#include "redis/tls_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 2 * 1024 * 1024 };

/* ---- files ---- */

struct file {
    char *bytes;
    size_t n;
};

/* Wipes it: it may be the key. */
static void file_free(struct file *file)
{
    if (file->bytes) {
        explicit_bzero(file->bytes, file->n);
    }
    free(file->bytes);
    *file = (struct file){.bytes = NULL};
}

/* NULL, or what is wrong. In one piece: what grows would leave copies of the key behind. */
static const char *read_all(int fd, struct file *file)
{
    struct stat status;
    if (fstat(fd, &status) < 0) {
        return strerror(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return "is not a file";
    }
    if (status.st_size == 0 || status.st_size > MAX_FILE_BYTES) {
        return status.st_size == 0 ? "is empty" : "is larger than 2 MB";
    }
    size_t size = (size_t)status.st_size;
    ssize_t n = 1;
    file->bytes = memory_new(size);
    while (file->n < size && (n = read(fd, file->bytes + file->n, size - file->n)) > 0) {
        file->n += (size_t)n;
    }
    return n < 0 ? strerror(errno) : NULL;
}

static const char *file_read(const char *source, struct file *file)
{
    char path[PATH_MAX];
    const char *wrong = secret_find(source, path);
    if (wrong) {
        return wrong;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return strerror(errno);
    }
    wrong = read_all(fd, file);
    close(fd);
    return wrong;
}

/* ---- what the files hold; `why`, of ONE_LINE_BYTES, is for the library's own words ---- */

/* berthd has nobody to ask. */
static int no_passphrase(char *out, int size, int is_writing, void *context)
{
    (void)out, (void)size, (void)is_writing;
    *(bool *)context = true;
    return -1;
}

/* The next certificate; NULL: there is none, or (*is_goodp is false) it is damaged. */
static X509 *next_certificate(BIO *bio, bool *is_goodp)
{
    bool asked = false;
    ERR_clear_error();
    X509 *certificate = PEM_read_bio_X509(bio, NULL, no_passphrase, &asked);
    *is_goodp = certificate || ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    return certificate;
}

/* NULL, or what is wrong. Hands each certificate of the file to `use`. */
static const char *each_certificate(const struct file *file, SSL_CTX *ssl,
    bool (*use)(SSL_CTX *ssl, X509 *certificate, size_t index), char *why)
{
    BIO *bio = BIO_new_mem_buf(file->bytes, (int)file->n);
    const char *wrong = NULL;
    size_t n = 0;
    X509 *certificate;
    bool is_good = true;
    while (bio && !wrong && (certificate = next_certificate(bio, &is_good))) {
        if (!use(ssl, certificate, n++)) {
            tls_say_last_error(why, ONE_LINE_BYTES);
            wrong = why;
        }
        X509_free(certificate);
    }
    BIO_free(bio);
    if (wrong || (is_good && n > 0)) {
        return wrong;
    }
    return is_good ? "has no certificate (PEM)" : "has a damaged certificate";
}

static bool use_trusted(SSL_CTX *ssl, X509 *certificate, size_t index)
{
    (void)index;
    return X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), certificate) == 1;
}

/* The first one is ours, the rest lead to its issuer. */
static bool use_own(SSL_CTX *ssl, X509 *certificate, size_t index)
{
    return index == 0 ? SSL_CTX_use_certificate(ssl, certificate) == 1
                      : SSL_CTX_add1_chain_cert(ssl, certificate) == 1;
}

static const char *use_ca(SSL_CTX *ssl, const struct file *file, char *why)
{
    return each_certificate(file, ssl, use_trusted, why);
}

static const char *use_certificate(SSL_CTX *ssl, const struct file *file, char *why)
{
    return each_certificate(file, ssl, use_own, why);
}

static const char *use_key(SSL_CTX *ssl, const struct file *file, char *why)
{
    bool asked = false;
    BIO *bio = BIO_new_mem_buf(file->bytes, (int)file->n);
    ERR_clear_error();
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &asked) : NULL;
    BIO_free(bio);
    if (!key) {
        ERR_clear_error();
        return asked ? "is encrypted, and berthd knows no passphrase" : "has no private key (PEM)";
    }
    bool is_good = SSL_CTX_use_PrivateKey(ssl, key) == 1 && SSL_CTX_check_private_key(ssl) == 1;
    EVP_PKEY_free(key);
    if (is_good) {
        return NULL;
    }
    bool is_other = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509;
    tls_say_last_error(why, ONE_LINE_BYTES);
    return is_other ? "is not the key of the certificate in cert-file" : why;
}

/* True without a file. */
static bool use_file(SSL_CTX *ssl, const char *key, const char *source,
    const char *(*use)(SSL_CTX *ssl, const struct file *file, char *why), char *why, size_t size)
{
    struct file file = {.bytes = NULL};
    char words[ONE_LINE_BYTES];
    if (!source) {
        return true;
    }
    const char *wrong = file_read(source, &file);
    if (!wrong) {
        wrong = use(ssl, &file, words);
    }
    file_free(&file);
    if (wrong) {
        format_one_line(why, size, "%s %s: %s%s", key, source, wrong, secret_hint(source));
    }
    return !wrong;
}

/* ---- contexts ---- */

static bool use_trust(SSL_CTX *ssl, const struct database *database, char *why, size_t size)
{
    if (!database->ca_file) {
        return SSL_CTX_set_default_verify_paths(ssl) == 1;
    }
    /* Whatever the file holds is trusted, be it an issuer's issuer or the server's own. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ssl), X509_V_FLAG_PARTIAL_CHAIN);
    return use_file(ssl, "ca-file", database->ca_file, use_ca, why, size);
}

static bool set_up(struct tls_context *context, const struct database *database)
{
    SSL_CTX *ssl = context->ssl;
    if (!ssl || !context->bio) {
        return false;
    }
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, tls_on_verify);
    int least = database->tls_min_version == TLS_MIN_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    return SSL_CTX_set_min_proto_version(ssl, least) == 1;
}

struct tls_context *tls_context_new(const struct database *database, char *why, size_t size)
{
    struct tls_context *context = memory_new(sizeof *context);
    context->n_references = 1;
    context->ssl = SSL_CTX_new(TLS_client_method());
    context->bio = tls_bio_method();
    context->server_name = memory_string(database->server_name);
    format_one_line(why, size, "OpenSSL cannot be set up");
    bool is_good = set_up(context, database) && use_trust(context->ssl, database, why, size) &&
        use_file(context->ssl, "cert-file", database->cert_file, use_certificate, why, size) &&
        use_file(context->ssl, "key-file", database->key_file, use_key, why, size);
    ERR_clear_error();
    return is_good ? context : tls_context_unref(context);
}

struct tls_context *tls_context_ref(struct tls_context *context)
{
    if (context) {
        context->n_references++;
    }
    return context;
}

struct tls_context *tls_context_unref(struct tls_context *context)
{
    if (context && --context->n_references == 0) {
        SSL_CTX_free(context->ssl);
        BIO_meth_free(context->bio);
        free(context->server_name);
        free(context);
    }
    return NULL;
}
