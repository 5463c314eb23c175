/* tls_words.c - what is wrong with a certificate, a handshake or a file, in one line. */
#include "redis/tls_internal.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

enum { NAME_TEXT_BYTES = 80, MAX_NAMES = 3 };

static void add_words(char *out, size_t size, const char *before, const char *words)
{
    size_t n = strlen(out);
    format_one_line(out + n, size - n, "%s%s", before, words);
}

/* ---- certificates ---- */

/* What was printed there. Frees it. */
static void say_printed(char out[NAME_TEXT_BYTES], BIO *bio)
{
    char *bytes = NULL;
    long n = bio ? BIO_get_mem_data(bio, &bytes) : 0;
    format_one_line(out, NAME_TEXT_BYTES, "%.*s", (int)n, n > 0 ? bytes : "");
    BIO_free(bio);
}

/* "CN = redis, O = Example" */
static void say_name(char out[NAME_TEXT_BYTES], const X509_NAME *name)
{
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio) {
        X509_NAME_print_ex(bio, name, 0, XN_FLAG_ONELINE);
    }
    say_printed(out, bio);
}

/* "Nov 23 14:00:00 2026 GMT" */
static void say_time(char out[NAME_TEXT_BYTES], const ASN1_TIME *time)
{
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio) {
        ASN1_TIME_print(bio, time);
    }
    say_printed(out, bio);
}

/* False: it is of a kind that names no host. */
static bool say_host(char *out, size_t size, const GENERAL_NAME *name)
{
    const ASN1_STRING *text = name->d.ia5;
    if (name->type == GEN_DNS) {
        format_one_line(
            out, size, "%.*s", ASN1_STRING_length(text), (const char *)ASN1_STRING_get0_data(text));
        return true;
    }
    int length = name->type == GEN_IPADD ? ASN1_STRING_length(text) : 0;
    if (length != 4 && length != 16) {
        return false;
    }
    return inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(text), out,
               (socklen_t)size) != NULL;
}

/* The names and addresses that it is for; without any, its subject's. */
static void say_hosts(char *out, size_t size, const X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int n = 0;
    out[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        char host[NAME_TEXT_BYTES];
        if (say_host(host, sizeof host, sk_GENERAL_NAME_value(names, i)) && n++ < MAX_NAMES) {
            add_words(out, size, n > 1 ? ", " : "", host);
        }
    }
    GENERAL_NAMES_free(names);
    if (n > MAX_NAMES) {
        add_words(out, size, ", ", "...");
    } else if (n == 0) {
        char subject[NAME_TEXT_BYTES];
        say_name(subject, X509_get_subject_name(certificate));
        add_words(out, size, "", subject);
    }
}

static void say_mismatch(struct tls *tls, const X509 *certificate)
{
    char hosts[2 * NAME_TEXT_BYTES];
    say_hosts(hosts, sizeof hosts, certificate);
    format_one_line(tls->why, sizeof tls->why,
        "certificate verify failed: the certificate is for %.120s, not for %.80s", hosts,
        tls->name);
}

static bool is_unknown_issuer(int error)
{
    return error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
        error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
        error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
        error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT;
}

/* What is wrong, and with which certificate of the chain. */
static void say_untrusted(struct tls *tls, int error, const X509 *certificate)
{
    char subject[NAME_TEXT_BYTES] = "", issuer[NAME_TEXT_BYTES] = "", at[NAME_TEXT_BYTES] = "";
    if (certificate) {
        say_name(subject, X509_get_subject_name(certificate));
        say_name(issuer, X509_get_issuer_name(certificate));
    }
    if (certificate && error == X509_V_ERR_CERT_HAS_EXPIRED) {
        say_time(at, X509_get0_notAfter(certificate));
    } else if (certificate && error == X509_V_ERR_CERT_NOT_YET_VALID) {
        say_time(at, X509_get0_notBefore(certificate));
    }
    format_one_line(tls->why, sizeof tls->why,
        "certificate verify failed: %s%s%s (subject \"%.70s\", issuer \"%.70s\")%s",
        X509_verify_cert_error_string(error), at[0] ? ": " : "", at, subject, issuer,
        is_unknown_issuer(error) ? "; is its issuer in ca-file?" : "");
}

int tls_on_verify(int is_good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls *tls = SSL_get_app_data(ssl);
    int error = X509_STORE_CTX_get_error(store);
    const X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    if (is_good || tls->why[0]) {
        return is_good;
    }
    bool is_other =
        error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH;
    if (is_other && certificate) {
        say_mismatch(tls, certificate);
    } else {
        say_untrusted(tls, error, certificate);
    }
    return 0;
}

/* ---- handshakes ---- */

#define VERSION "the server and tls-min-version have no version of TLS in common"
#define OUR_CERTIFICATE "the server rejects our certificate (cert-file)"

/* What the operator can change; the library's own words for the rest. */
static const struct {
    int reason;
    const char *words;
} reasons[] = {
    {SSL_R_WRONG_VERSION_NUMBER,
        "what the server sends is not TLS; is that port one for redis://?"},
    {SSL_R_UNSUPPORTED_PROTOCOL, VERSION},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, VERSION},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
        "the server requires a client certificate: set cert-file and key-file"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
        "the server refuses the handshake: it may require a client certificate (cert-file and "
        "key-file), or other ciphers"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, OUR_CERTIFICATE ": it does not trust its issuer"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, OUR_CERTIFICATE ": it is bad"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, OUR_CERTIFICATE ": it has expired"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, OUR_CERTIFICATE ": it is revoked"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, OUR_CERTIFICATE},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, OUR_CERTIFICATE ": it is of another kind"},
    {SSL_R_TLSV1_ALERT_DECRYPT_ERROR, OUR_CERTIFICATE ": its signature is wrong"},
    {SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, "a record was damaged on the way"},
};

static const char *words_of(unsigned long error)
{
    for (size_t i = 0; ERR_GET_LIB(error) == ERR_LIB_SSL && i < sizeof reasons / sizeof reasons[0];
         i++) {
        if (reasons[i].reason == ERR_GET_REASON(error)) {
            return reasons[i].words;
        }
    }
    const char *words = ERR_reason_error_string(error);
    return words ? words : "unknown TLS error";
}

void tls_say_failure(struct tls *tls)
{
    unsigned long error = ERR_peek_error();
    if (!tls->why[0]) {
        format_one_line(tls->why, sizeof tls->why, "TLS: %s", words_of(error));
    }
    ERR_clear_error();
}

void tls_say_last_error(char *out, size_t size)
{
    format_one_line(out, size, "%s", words_of(ERR_peek_last_error()));
    ERR_clear_error();
}
