/** The caller cancelled the call. Not an HTTP status, but used in logs of reverse proxies. */
export const CLIENT_CLOSED_REQUEST = 499
