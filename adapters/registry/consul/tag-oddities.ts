import { suggest } from '../../../core/suggest.ts'
import type { ReadTags } from './tags.ts'

/** `mx.path`, and what was hardly meant otherwise: in capitals, with blanks. */
const LIKE_OURS = /^\s*mx\.\s*([^=@\s]{1,40})/i
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
]

/** What the tags of a service say that has no effect and was hardly meant so, a line each. */
export function findTagOddities({ marked, route, others }: ReadTags): string[] {
  const oddities: string[] = []
  for (const tag of others) {
    const key = LIKE_OURS.exec(tag)?.[1]
    if (key === undefined) continue
    const meant = suggest(key, KEYS)
    const hint = meant === undefined ? '' : `, did you mean mx.${meant}=?`
    oddities.push(`the tag ${JSON.stringify(tag.slice(0, 80))} means nothing${hint}`)
  }
  if (marked || route['path'] !== undefined) return oddities
  for (const key of ['host', 'method'])
    if (route[key] !== undefined) oddities.push(`mx.${key} says nothing without mx.path`)
  return oddities
}
