import { isServiceName } from '../../../core/registry/service-name.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { ReadTags } from './tags.ts'

/** `mx.path`, and what was hardly meant otherwise: in capitals, with blanks, `mx-path=` as in Meta. */
const LIKE_OURS = /^\s*mx(?:\.|-(?=[a-z]+=))\s*([^=@\s]{1,40})/i
const KEYS = [
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
]

/** What the tags of a service say that has no effect and was hardly meant so, a line each. */
export function findTagWarnings({ marked, domains, route, others }: ReadTags): string[] {
  const oddities: string[] = []
  for (const tag of others) {
    const key = LIKE_OURS.exec(tag)?.[1]
    if (key === undefined) continue
    const meant = suggest(key, KEYS)
    const hint = meant === undefined ? '' : `, did you mean mx.${meant}=?`
    oddities.push(`the tag ${JSON.stringify(tag.slice(0, 80))} means nothing${hint}`)
  }
  for (const domain of domains) {
    if (isServiceName(domain)) continue
    const shown = JSON.stringify(domain.slice(0, 80))
    oddities.push(
      `mx.domain must be letters, digits and inner dots, dashes or underscores, got ${shown}: the service is in no domain`,
    )
  }
  if (marked) return oddities
  if (route['path']?.trim() === '') oddities.push('mx.path= names no path: nothing leads there')
  if (route['path'] !== undefined) return oddities
  for (const key of ['host', 'method']) {
    if (route[key] !== undefined)
      oddities.push(`mx.${key} says nothing without mx.path, such as mx.path=/** for every path`)
  }
  return oddities
}
