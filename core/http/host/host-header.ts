/** RFC 3986 §3.2.2: reg-name or IPv4 without percent-encoding, or a bracketed IPv6 address, with an optional port. */
const HOST_HEADER = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_~-][A-Za-z0-9._~-]*)(?::\d{1,5})?$/

/** Whether a text is a host with an optional port, as in the `Host` header (RFC 9110 §7.2). */
export function isHostHeader(text: string): boolean {
  return HOST_HEADER.test(text)
}
