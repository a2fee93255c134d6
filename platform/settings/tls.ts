import { domainToASCII } from 'node:url'
import { isDnsName } from '../../core/http/host-name.ts'
import { hideSecret } from '../../lib/text/redact-url.ts'

/** In place of files: a certificate for development. */
export const SELF_SIGNED = 'self-signed'

const EMAIL = /^[^\s@:,]+@[^\s@:,]+$/

/** Files, or `self-signed` alone. @throws {RangeError} */
export function parseCertFiles(texts: readonly string[]): readonly string[] {
  if (texts.some((text) => text.trim() === '')) throw wrong('a file', '')
  if (texts.includes(SELF_SIGNED) && texts.length > 1)
    throw wrong(`files, or ${SELF_SIGNED} alone`, texts.join(','))
  return texts
}

/** Names of hosts that certificates can be had for by HTTP. @throws {RangeError} */
export function parseAcmeHosts(texts: readonly string[]): readonly string[] {
  const hosts = texts.map((text) => {
    const host = domainToASCII(text.trim().replace(/\.$/, ''))
    if (isDnsName(host)) return host
    const hint = text.includes('*') ? ', and for wildcards there is no challenge by HTTP' : ''
    throw wrong('names of hosts such as app.example.com', text, hint)
  })
  return [...new Set(hosts)]
}

/** Empty: none. @throws {RangeError} */
export function parsePermissionUrl(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '' || /^https?:$/.test(toProtocol(trimmed))) return trimmed
  throw wrong('a URL such as http://127.0.0.1:9000/ask', text)
}

/** @throws {RangeError} */
export function parseDirectoryUrl(text: string): string {
  const trimmed = text.trim()
  if (toProtocol(trimmed) === 'https:') return trimmed
  throw wrong('a URL such as https://acme.example.com/directory', text)
}

/** Empty: none. @throws {RangeError} */
export function parseEmail(text: string): string {
  const trimmed = text.trim().replace(/^mailto:/, '')
  if (trimmed === '' || EMAIL.test(trimmed)) return trimmed
  throw wrong('an address such as admin@example.com', text)
}

function toProtocol(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : ''
}

function wrong(wanted: string, got: string, hint = ''): RangeError {
  return new RangeError(`must be ${wanted}, got ${JSON.stringify(hideSecret(got))}${hint}`)
}
