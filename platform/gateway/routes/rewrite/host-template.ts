import { GATEWAY_ID, GatewayError } from '../../../../core/errors.ts'
import type { PathTemplate } from '../../../../core/path/template.ts'
import { compileText, type Render } from './rewrite.ts'

/** Name or IP address with an optional port (RFC 3986 §3.2). */
const AUTHORITY =
  /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?)(?::\d{1,5})?$/
const PORT = /:\d{1,5}$/
/** Label as in RFC 1123 §2.1, also allowing underscores. */
const LABEL = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/
const PLACEHOLDER = /\{[^{}]*\}/g

/**
 * Compiles `host` of a redirect or rewrite. `{host}` is the host of the request. Other placeholders
 * fill one label of a name, so that no value can lead to another domain; requests with other values
 * fail with 400.
 *
 * @param hasScheme whether the redirect changes the scheme, in which case the request's port does
 * not apply.
 * @throws {RangeError} if the text does not form a host.
 */
export function compileHost(
  text: string,
  template: PathTemplate | undefined,
  hasScheme: boolean,
  subject: 'redirect' | 'rewrite' = 'redirect',
): Render {
  const fail = (requirement: string): never => {
    throw new RangeError(`host of ${subject} ${requirement}, got ${JSON.stringify(text)}`)
  }
  const values = text.match(PLACEHOLDER) ?? []
  const whole = values.find((value) => /^\{(?:path|rest|client_ip)\}$/.test(value))
  if (whole !== undefined) fail(`must not use ${whole}`)
  if (/\{(?!host\})[^{}]*\}[^{}.]*$/.test(text))
    fail('must end with a domain, such as {header.x-tenant}.example.com')
  if (!AUTHORITY.test(text.replace(PLACEHOLDER, 'x')))
    fail('must be a name or an IP address with an optional port, such as www.example.com:8443')
  const hasPort = !hasScheme && !PORT.test(text)
  const [first, ...others] = text
    .split('{host}')
    .map((part) => compileText(part, template, toLabel)) as [Render, ...Render[]]
  return (x) => {
    const host = hasPort ? x.host : x.host.replace(PORT, '')
    let authority = first(x)
    for (const other of others) authority += host + other(x)
    if (AUTHORITY.test(authority)) return authority
    throw invalid(authority)
  }
}

function toLabel(value: string): string {
  if (LABEL.test(value)) return value
  throw invalid(value)
}

function invalid(value: string): GatewayError {
  const detail = `${JSON.stringify(value.slice(0, 100))} is not part of a host name`
  return new GatewayError(GATEWAY_ID, 400, detail)
}
