import type { Endpoint, Value } from '../../../core/contracts/registry.ts'

const MAX_ENDPOINTS = 1000
/** Deeper values describe nothing. */
const MAX_DEPTH = 32
const NO_VALUE: Value = { name: '', type: '', values: [] }

/**
 * Reads `mx/endpoints`: `[{"name": "Greeter.Hello", "request": {…}, "response": {…}, "metadata": {…}}, …]`, of which only
 * the name must be there.
 *
 * @throws {TypeError} naming the first wrong field and what would be right.
 */
export function parseEndpoints(text: string): Endpoint[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (cause) {
    throw new TypeError(`mx/endpoints must be JSON: ${(cause as Error).message}`, { cause })
  }
  if (!Array.isArray(list) || list.length > MAX_ENDPOINTS)
    throw new TypeError(`mx/endpoints must be a list of at most ${MAX_ENDPOINTS} endpoints`)
  return list.map((endpoint, i) => {
    const path = `mx/endpoints[${i}]`
    const { name, request, response, metadata = {} } = toObject(endpoint, path)
    return {
      name: toText(name, `${path}.name`),
      request: toValue(request, `${path}.request`, MAX_DEPTH),
      response: toValue(response, `${path}.response`, MAX_DEPTH),
      metadata: Object.fromEntries(
        Object.entries(toObject(metadata, `${path}.metadata`)).map(([key, value]) => [
          key,
          toText(value, `${path}.metadata.${key}`),
        ]),
      ),
    }
  })
}

function toValue(value: unknown, path: string, depth: number): Value {
  if (value === undefined || value === null) return NO_VALUE
  const { name = '', type = '', values = [] } = toObject(value, path)
  if (!Array.isArray(values)) throw new TypeError(`${path}.values must be a list`)
  if (values.length > 0 && depth === 0)
    throw new TypeError(`${path} must be nested at most ${MAX_DEPTH} deep`)
  return {
    name: toText(name, `${path}.name`),
    type: toText(type, `${path}.type`),
    values: values.map((inner, i) => toValue(inner, `${path}.values[${i}]`, depth - 1)),
  }
}

function toObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>
  throw new TypeError(`${path} must be an object`)
}

function toText(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  throw new TypeError(`${path} must be a string`)
}
