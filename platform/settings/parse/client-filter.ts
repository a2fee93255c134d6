import { createAllowList } from '../../../core/egress/allow-list.ts'
import { createCidrSet } from '../../../lib/net/cidr-set.ts'
import { list, notAllowed, withoutSubject } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

const ORIGIN =
  /^(?:\*|[a-z][a-z0-9+.-]*:\/\/(?:\*\.)?(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/
const HOST_PATTERN = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i
const NETWORK_FORMS = 'networks such as 10.0.0.0/8, loopback, private or unix'

/** Networks, or the words `loopback`, `private` and `unix`. */
export const NETWORKS: ValueType<readonly string[]> = list(
  'network,...',
  NETWORK_FORMS,
  (texts) => {
    withoutSubject('networks', () => createCidrSet(texts, 'networks'))
    return texts
  },
)

/** Networks, or the words `public`, `private`, `loopback` and `link-local`. */
export const ALLOW_LIST: ValueType<readonly string[]> = list(
  'network,...',
  'networks such as 10.0.0.0/8, public, private, loopback or link-local',
  (texts) => {
    withoutSubject('networks', () => createAllowList(texts, 'networks'))
    return texts
  },
)

/** `off`, `any`, or {@link NETWORKS}. */
export const CLIENT_RANGES: ValueType<'any' | readonly string[]> = list(
  'off, any or network,...',
  `off, any, or ${NETWORK_FORMS}`,
  (texts) => {
    if (texts.length === 1 && texts[0] === 'off') return []
    if (texts.length === 1 && texts[0] === 'any') return 'any'
    return NETWORKS.parse(texts)
  },
)

/** Web origins; `*` allows any origin. */
export const ORIGINS: ValueType<readonly string[]> = patterns(
  'origin,...',
  'an origin such as https://app.example.com (no path), or *',
  (text) => ORIGIN.test(text),
)

/** `any`, `same-host`, or web origins in addition to the same host. */
export const WEB_ORIGINS: ValueType<'any' | readonly string[]> = orAny(
  'same-host',
  patterns(
    'origin,...',
    'any, same-host, or origins such as https://app.example.com',
    (text) => text !== '*' && ORIGIN.test(text),
  ),
)

/** `any`, `local`, or host names in addition to the names of this machine. */
export const HOSTS: ValueType<'any' | readonly string[]> = orAny(
  'local',
  patterns('name,...', 'any, local, or names such as app.example.com or *.example.com', (text) =>
    HOST_PATTERN.test(text),
  ),
)

function patterns(
  placeholder: string,
  allowed: string,
  isAllowed: (text: string) => boolean,
): ValueType<readonly string[]> {
  return list(placeholder, allowed, (texts) => {
    for (const text of texts) if (!isAllowed(text)) throw notAllowed(allowed, text)
    return texts
  })
}

/** Returns the type for `any` alone or a list. The list may contain `always`, which is always included. */
function orAny(
  always: string,
  type: ValueType<readonly string[]>,
): ValueType<'any' | readonly string[]> {
  return {
    ...type,
    parse: (texts) =>
      texts.length === 1 && texts[0] === 'any'
        ? 'any'
        : type.parse(texts.filter((text) => text !== always)),
  }
}
