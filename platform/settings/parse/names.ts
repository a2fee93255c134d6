import { parseBackend } from '../../../adapters/registry/static.ts'
import { isServiceName } from '../../../core/registry/service-name.ts'
import { parseBalance } from '../../../core/upstream/balance/parse-balance.ts'
import { isNetworkName } from '../../../domain/mesh/handshake.ts'
import { isServerId } from '../../../domain/mesh/names.ts'
import { list, notAllowed, single, withoutSubject } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

const NAMESPACE = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/i

/** Prefix of service names, or only spaces for no prefix (specification: Namespace). */
export const NAMESPACE_PREFIX: ValueType<string> = single(
  'prefix',
  'names joined by dots such as go.mx.api, or a single blank for none',
  (text, reject) => {
    const namespace = text.trim()
    if (namespace !== '' && !NAMESPACE.test(namespace)) throw reject()
    return namespace
  },
)

export const SERVICE_NAMES: ValueType<readonly string[]> = names('service,...', 'names of services')

export const NAMESPACE_NAMES: ValueType<readonly string[]> = names(
  'name,...',
  'names of namespaces',
)

/**
 * Backends, each as `name=host:port[;weight],...`. They are stored as text, because the meaning of
 * a name depends on the namespace.
 */
export const BACKENDS: ValueType<readonly string[]> = {
  kind: 'list',
  placeholder: 'name=host:port[;weight],...',
  allowed: 'name=host:port[;weight],...',
  separator: ' ',
  parse: (texts) => {
    for (const text of texts) withoutSubject('backend', () => parseBackend(text, ''))
    return texts
  },
}

/** Load-balancing policy, stored as text because each service has its own balancer. */
export const BALANCE_POLICY: ValueType<string> = single(
  'policy',
  'round-robin, random, p2c, least-conn, hash:ip, hash:path, hash:header:<name> or hash:cookie:<name>, also behind sticky:',
  (text) => {
    withoutSubject('balance', () => parseBalance(text))
    return text.trim()
  },
)

export const NETWORK_NAME: ValueType<string> = single(
  'name',
  '1 to 253 visible ASCII characters',
  (text, reject) => {
    const trimmed = text.trim()
    if (!isNetworkName(trimmed)) throw reject()
    return trimmed
  },
)

/** Id of a server; empty if none. */
export const SERVER_ID: ValueType<string> = single(
  'id',
  '1 to 100 letters, digits, and inner dots, dashes or underscores',
  (text, reject) => {
    const trimmed = text.trim()
    if (trimmed !== '' && !isServerId(trimmed)) throw reject()
    return trimmed
  },
)

function names(placeholder: string, allowed: string): ValueType<readonly string[]> {
  return list(placeholder, allowed, (texts) =>
    texts.map((text) => {
      const name = text.trim()
      if (!isServiceName(name)) throw notAllowed(allowed, text)
      return name
    }),
  )
}
