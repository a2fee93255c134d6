import type { QuotaLimits } from '../../../core/limits/quota.ts'
import { isServiceName } from '../../../core/registry/service-name.ts'
import { count, SIZE, SIZE_OR_AUTO } from '../../../lib/values/amount.ts'
import { list, notAllowed } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

const COUNT = count(0, 999_999_999, ', or none')

/** Number of bytes for all namespaces except `mx`, and for individual namespaces by name. */
export const SIZE_QUOTA: ValueType<QuotaLimits> = list(
  'size,ns=size,...',
  'a size, auto or none; namespace=size for one namespace',
  (texts) =>
    parseQuota(
      texts,
      'auto',
      (text) => SIZE.parse([text]),
      (text) => SIZE_OR_AUTO.parse([text]),
    ),
)

/**
 * Returns the type of a number for all namespaces except `mx`, and for individual namespaces by
 * name.
 */
export function countQuota(limit: string): ValueType<QuotaLimits> {
  return list(
    'number,ns=number,...',
    'a number or none; namespace=number for one namespace',
    (texts) =>
      parseQuota(texts, limit, (text) =>
        text.trim() === 'none' ? Number.POSITIVE_INFINITY : COUNT.parse([text]),
      ),
  )
}

/**
 * Parses `limit` for all namespaces except `mx`, and `namespace=limit` for individual namespaces.
 * If `limit` is not specified, the default limit applies.
 *
 * @throws {RangeError}
 */
function parseQuota(
  texts: readonly string[],
  defaultText: string,
  parse: (text: string) => number,
  parseCommon: (text: string) => number | 'auto' = parse,
): QuotaLimits {
  let limit: number | 'auto' | undefined
  const namespaces: Record<string, number> = Object.create(null)
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 0) {
      if (limit !== undefined)
        throw new RangeError(`must have one limit without a namespace, got ${JSON.stringify(text)}`)
      limit = parseCommon(text)
      continue
    }
    const namespace = text.slice(0, at).trim()
    if (!isServiceName(namespace)) throw notAllowed('limit or namespace=limit', text)
    if (namespace in namespaces)
      throw new RangeError(`contains the duplicate namespace ${namespace}`)
    namespaces[namespace] = parse(text.slice(at + 1))
  }
  return { limit: limit ?? parseCommon(defaultText), namespaces }
}
