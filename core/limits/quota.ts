import { GatewayError } from '../errors.ts'
import { DEFAULT_DOMAIN } from '../registry/service.ts'

/** What a namespace may use of something. */
export interface Quota {
  /** Setting, for errors: `quota_store`. */
  readonly name: string
  /** `Infinity`: no limit. */
  readonly limitOf: (namespace: string) => number
}

/** A quota as it is set. */
export interface QuotaLimits {
  /** For namespaces that are not named, except the default one, which has none then. `auto`: by what there is room for. */
  readonly limit: number | 'auto'
  /** By namespace. */
  readonly namespaces: Readonly<Record<string, number>>
}

/** @param autoLimit what `auto` means. @default no limit */
export function createQuota(
  name: string,
  { limit, namespaces }: QuotaLimits,
  autoLimit: number = Number.POSITIVE_INFINITY,
): Quota {
  const named = new Map(Object.entries(namespaces))
  const common = limit === 'auto' ? autoLimit : limit
  return {
    name,
    limitOf: (namespace) =>
      named.get(namespace) ?? (namespace === DEFAULT_DOMAIN ? Number.POSITIVE_INFINITY : common),
  }
}

/** No limit for anybody. */
export function noQuota(name: string): Quota {
  return { name, limitOf: () => Number.POSITIVE_INFINITY }
}

/** What reached a quota. */
interface QuotaUse {
  readonly namespace: string
  /** The limit and what is in use, with their unit: `10 programs`. */
  readonly limit: string
  readonly used: string
  /** How to get room: `delete records`. */
  readonly remedy: string
}

/** @param code 429 for counts, 507 for bytes. */
export function quotaReached(
  id: string,
  code: 429 | 507,
  { name }: Pick<Quota, 'name'>,
  { namespace, limit, used, remedy }: QuotaUse,
): GatewayError {
  return new GatewayError(
    id,
    code,
    `${name} of namespace ${namespace} is reached: ${used} of ${limit} in use; ${remedy}, or raise it (${name}=${namespace}=...)`,
  )
}
