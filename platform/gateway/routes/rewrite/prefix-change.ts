import type { PathTemplate } from '../../../../core/path/template.ts'
import type { ConfiguredRoute } from '../../../config/types.ts'

/** Change of the leading segments of a path. */
export interface PrefixChange {
  /** Removed from requests, percent-encoded; empty if none. */
  readonly stripped: string
  /** Put in front of the rest; empty if none. */
  readonly added: string
  /** The route has paths that do not begin with `stripped`. */
  readonly isOptional: boolean
}

/** A text and one placeholder. */
const TEXT_AND_PLACEHOLDER = /^([^{}]*)\{([^{}]*)\}$/

/** Change of the path by the action of a route; undefined if it has none, or a change that is not reversed in responses. */
export function findPrefixChange({
  match: { paths },
  action,
}: Pick<ConfiguredRoute, 'match' | 'action'>): PrefixChange | undefined {
  if (action.kind !== 'service') return undefined
  const { path, stripPrefix: stripped, addPrefix: added } = action
  const change = path === undefined ? { stripped, added } : readTemplate(path, paths)
  if (change === undefined || change.stripped === change.added) return undefined
  return {
    ...change,
    isOptional: path === undefined && !paths.every((template) => begins(template, stripped)),
  }
}

/** `/v2/{rest}` for `/api/**`, and `/v2{path}`. */
function readTemplate(
  text: string,
  [template, ...others]: readonly PathTemplate[],
): Omit<PrefixChange, 'isOptional'> | undefined {
  const [, literal = '', name = ''] = TEXT_AND_PLACEHOLDER.exec(text) ?? []
  if (name === 'path') return { stripped: '', added: literal }
  if (template === undefined || others.length > 0 || !literal.endsWith('/')) return undefined
  const { segments, variables, verb } = template
  const literals = segments.slice(0, -1)
  if (segments.at(-1) !== '**' || literals.includes('*') || verb !== '') return undefined
  const variable = variables.find((each) => each.name === name)
  const isRest = variable === undefined ? name === 'rest' : variable.start === literals.length
  if (!isRest) return undefined
  return {
    stripped: literals.map((segment) => `/${encodeURIComponent(segment)}`).join(''),
    added: literal.slice(0, -1),
  }
}

/** Whether all paths of a template have these leading segments. */
function begins({ segments, verb }: PathTemplate, prefix: string): boolean {
  const leading = prefix.split('/').slice(1)
  // A verb is part of the last segment.
  const literals = verb === '' ? segments : segments.slice(0, -1)
  return leading.every((segment, i) => literals[i] === segment)
}
