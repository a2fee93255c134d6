import { GatewayError } from '../errors.ts'
import { DEFAULT_DOMAIN } from '../registry/service.ts'

/** Limit of a resource per namespace. */
export interface Quota {
  /** Name of the setting, for errors: `quota_store`. */
  readonly name: string
  /** `Infinity` if unlimited. */
  readonly limitOf: (namespace: string) => number
}

/** Configured limits of a quota. */
export interface QuotaLimits {
  /**
   * Limit of namespaces without an entry; does not apply to the default namespace. `auto` derives it from the available
   * space.
   */
  readonly limit: number | 'auto'
  /** Limits by namespace. */
  readonly namespaces: Readonly<Record<string, number>>
}

/** @param autoLimit value of `auto`. @default no limit */
export function createQuota(
  name: string,
  { limit, namespaces }: QuotaLimits,
  autoLimit: number = Number.POSITIVE_INFINITY,
): Quota {
  const byNamespace = new Map(Object.entries(namespaces))
  const common = limit === 'auto' ? autoLimit : limit
  return {
    name,
    limitOf: (namespace) =>
      byNamespace.get(namespace) ??
      (namespace === DEFAULT_DOMAIN ? Number.POSITIVE_INFINITY : common),
  }
}

/** Creates a quota without limits. */
export function noQuota(name: string): Quota {
  return { name, limitOf: () => Number.POSITIVE_INFINITY }
}

/** Usage that reached a quota. */
interface QuotaUse {
  readonly namespace: string
  /** Limit and usage with their unit, such as `10 programs`. */
  readonly limit: string
  readonly used: string
  /** Advice for reducing the usage, such as `delete records`. */
  readonly remedy: string
}

/** Creates the error for a reached quota. @param code 429 for counts, 507 for bytes. */
export function quotaReached(
  id: string,
  code: 429 | 507,
  { name }: Pick<Quota, 'name'>,
  { namespace, limit, used, remedy }: QuotaUse,
): GatewayError {
  return new GatewayError(
    id,
    code,
    `${name} reached in namespace ${namespace}: ${used} of ${limit} in use; ${remedy}, or raise the quota (${name}=${namespace}=...)`,
  )
}
