import type { PathTemplate } from './template.ts'

/** Formats a template such as `/users/{id}/**:verb`. */
export function formatTemplate({ segments, verb, variables }: PathTemplate): string {
  const parts = segments.map((segment) =>
    segment === '*' || segment === '**' ? segment : encodeURIComponent(segment),
  )
  let path = ''
  for (let at = 0; at < parts.length; ) {
    const variable = variables.find(({ start }) => start === at)
    if (variable === undefined) path += `/${parts[at++]}`
    else {
      const covered = parts.slice(at, variable.end).join('/')
      path += covered === '*' ? `/{${variable.name}}` : `/{${variable.name}=${covered}}`
      at = variable.end
    }
  }
  return `${path || '/'}${verb === '' ? '' : `:${verb}`}`
}
