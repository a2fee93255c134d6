import { isServiceName } from '../../../core/registry/service-name.ts'
import { SETTING_NAMES } from '../../../core/registry/setting-metadata.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { ReadTags } from './tags.ts'

/** Matches `mx.path` and likely misspellings: capitals, whitespace, or `mx-path=` as in Meta. */
const LIKE_MX_TAG = /^\s*mx(?:\.|-(?=[a-z]+=))\s*([^=@\s]{1,40})/i
const KEYS: readonly string[] = [
  'path',
  'host',
  'method',
  'handler',
  'protocol',
  'domain',
  'version',
  'endpoint',
  'metadata',
  'node',
  'revision',
  ...SETTING_NAMES,
]

/** Returns warnings about tags that have no effect. */
export function findTagWarnings({ marked, domains, route, others }: ReadTags): string[] {
  const warnings: string[] = []
  for (const tag of others) {
    const key = LIKE_MX_TAG.exec(tag)?.[1]
    if (key === undefined) continue
    const near = suggest(key, KEYS)
    const hint = near === undefined ? '' : `, did you mean mx.${near}=?`
    warnings.push(`the tag ${JSON.stringify(tag.slice(0, 80))} has no effect${hint}`)
  }
  for (const domain of domains) {
    if (isServiceName(domain)) continue
    const quoted = JSON.stringify(domain.slice(0, 80))
    warnings.push(
      `mx.domain must be letters, digits and inner dots, dashes or underscores, got ${quoted}: the service belongs to no domain`,
    )
  }
  if (marked) return warnings
  if (route['path']?.trim() === '') warnings.push('mx.path= is empty: the service has no route')
  if (route['path'] !== undefined) return warnings
  for (const key of ['host', 'method']) {
    if (route[key] !== undefined)
      warnings.push(
        `mx.${key} has no effect without mx.path, for example mx.path=/** for all paths`,
      )
  }
  return warnings
}
