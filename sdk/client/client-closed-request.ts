/** The caller did not wait for the answer. No status of HTTP, but what reverse proxies write into their logs. */
export const CLIENT_CLOSED_REQUEST = 499
