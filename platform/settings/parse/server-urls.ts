import { NATS_FORM, parseNatsUrl } from '../../../adapters/nats/url.ts'
import { parsePostgresUrl } from '../../../adapters/store/postgres/client/url.ts'
import { checkUrlSetting, didYouMean, single } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'
import { isRegistryText, REGISTRY_FORMS } from '../../../sdk/registry/open-registry.ts'

const PLACEHOLDER = 'name or url'
const NATS = /^(?:nats|tls):/

/** `memory`, `lmdb`, or the URL of a PostgreSQL server. */
export const STORE_URL: ValueType<string> = nameOrUrl(
  ['memory', 'lmdb'],
  'memory, lmdb (a file) or postgres://user@host:port/database',
  /^postgres(?:ql)?:/,
  parsePostgresUrl,
)
/** `memory`, or the URL of a NATS server. */
export const BROKER_URL: ValueType<string> = nameOrUrl(
  ['memory'],
  `memory (this process) or ${NATS_FORM}`,
  NATS,
  parseNatsUrl,
)
/** `memory`, `lmdb`, or the URL of a NATS server. */
export const EVENT_STORE_URL: ValueType<string> = nameOrUrl(
  ['memory', 'lmdb'],
  `memory, lmdb (a file) or ${NATS_FORM} (JetStream)`,
  NATS,
  parseNatsUrl,
)

/**
 * `static`, or a registry accepted by `openRegistry`. It is checked here, so that startup fails
 * with status 2 on a mistake.
 */
export const REGISTRY_URL: ValueType<string> = single(
  PLACEHOLDER,
  `static, ${REGISTRY_FORMS}`,
  (text, reject) => {
    const word = text.trim()
    if (word !== 'static' && !checkUrlSetting(() => isRegistryText(word)))
      throw reject(didYouMean(word, ['static', 'memory', 'kubernetes']))
    return word
  },
)

/** Returns the type for one of `names`, or a URL that `parseUrl` accepts. */
function nameOrUrl(
  names: readonly string[],
  allowed: string,
  scheme: RegExp,
  parseUrl: (text: string) => unknown,
): ValueType<string> {
  return single(PLACEHOLDER, allowed, (text, reject) => {
    const trimmed = text.trim()
    if (scheme.test(trimmed)) checkUrlSetting(() => parseUrl(trimmed))
    else if (!names.includes(trimmed)) throw reject(didYouMean(trimmed, names))
    return trimmed
  })
}
