import { domainToASCII } from 'node:url'
import { isDnsName } from '../../../core/http/host/host-name.ts'
import { list, nonEmptyTexts, notAllowed, single } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

/** Used instead of files for a development certificate. */
export const SELF_SIGNED = 'self-signed'

const EMAIL = /^[^\s@:,]+@[^\s@:,]+$/
const HOST_FORMS = 'names of hosts such as app.example.com'

export const FILES: ValueType<readonly string[]> = nonEmptyTexts('file,...', 'a file')

/** Files, or `self-signed` alone. */
export const CERTIFICATE_FILES: ValueType<readonly string[]> = list(
  'file,...',
  `files, or ${SELF_SIGNED} alone`,
  (texts) => {
    if (texts.includes(SELF_SIGNED) && texts.length > 1)
      throw notAllowed(`files, or ${SELF_SIGNED} alone`, texts.join(','))
    return FILES.parse(texts)
  },
)

/** Host names that the HTTP challenge can prove, in lower case, without duplicates. */
export const ACME_HOSTS: ValueType<readonly string[]> = list('name,...', HOST_FORMS, (texts) => {
  const hosts = texts.map((text) => {
    const host = domainToASCII(text.trim().replace(/\.$/, ''))
    if (isDnsName(host)) return host
    const hint = text.includes('*') ? ', and wildcards have no HTTP challenge' : ''
    throw notAllowed(HOST_FORMS, text, hint)
  })
  return [...new Set(hosts)]
})

/** URL of an HTTP server; empty if none. */
export const PERMISSION_URL: ValueType<string> = single(
  'url',
  'a URL such as http://127.0.0.1:9000/ask',
  (text, reject) => {
    const trimmed = text.trim()
    if (trimmed !== '' && !/^https?:$/.test(toProtocol(trimmed))) throw reject()
    return trimmed
  },
)

export const DIRECTORY_URL: ValueType<string> = single(
  'url',
  'a URL such as https://acme.example.com/directory',
  (text, reject) => {
    const trimmed = text.trim()
    if (toProtocol(trimmed) !== 'https:') throw reject()
    return trimmed
  },
)

/** Email address; empty if none. */
export const EMAIL_ADDRESS: ValueType<string> = single(
  'address',
  'an address such as admin@example.com',
  (text, reject) => {
    const trimmed = text.trim().replace(/^mailto:/, '')
    if (trimmed !== '' && !EMAIL.test(trimmed)) throw reject()
    return trimmed
  },
)

function toProtocol(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : ''
}
