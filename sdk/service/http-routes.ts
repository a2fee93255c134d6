import type { Endpoint } from '../../core/contracts/registry.ts'
import { toLower, toPascal } from '../../lib/text/case.ts'

/** Method and path of a gateway route to an endpoint. */
export interface HttpRoutePath {
  readonly method: string
  /** Path with variables as `{name}`. */
  readonly path: string
  /** True if the endpoint declares the route; false for the default path. */
  readonly isDeclared: boolean
}

const VARIABLE = /\{([^{}=]+)(?:=[^{}]*)?\}/g

/** Routes declared by an endpoint (reference 1.7), else its default path. Regular expressions are omitted. */
export function listHttpRoutes(
  service: string,
  { name, metadata }: Pick<Endpoint, 'name' | 'metadata'>,
): readonly HttpRoutePath[] {
  const paths = (metadata['path'] ?? '').split(',').filter((path) => path.startsWith('/'))
  if (paths.length > 0) {
    const validMethods = (metadata['method'] ?? '')
      .split(',')
      .filter((each) => /^[A-Z]+$/.test(each))
    const methods = validMethods.length > 0 ? validMethods : ['POST']
    return methods.flatMap((method) =>
      paths.map((path) => ({ method, path: path.replaceAll(VARIABLE, '{$1}'), isDeclared: true })),
    )
  }
  const dot = name.lastIndexOf('.')
  const [handler, method] = [name.slice(0, dot), name.slice(dot + 1)]
  const words = handler === toPascal(service) ? [method] : [handler, method]
  const path = `/${[service.replaceAll('.', '/'), ...words.map(toLower)].join('/')}`
  return [{ method: 'POST', path, isDeclared: false }]
}

/** Names of the variables of a path. */
export function variablesOf(path: string): readonly string[] {
  return [...path.matchAll(VARIABLE)].map(([, name]) => name!)
}
