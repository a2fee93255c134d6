import { METHODS } from 'node:http'
import { parsePath } from '../../core/path/pattern.ts'
import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import { inspectShort } from '../../lib/text/inspect.ts'

/** HTTP route of an endpoint, in addition to its default path (specification: the default handler). */
export interface HttpRoute {
  /** One or more methods, such as `GET`. */
  readonly method: string | readonly string[]
  /** One or more path templates, such as `/greet/{name}`. */
  readonly path: string | readonly string[]
  /** One or more host names. @default any */
  readonly host?: string | readonly string[]
  /** @default rpc */
  readonly handler?: 'rpc' | 'api' | 'event' | 'proxy' | 'web'
}

const OPTIONS: KnownOptions<HttpRoute> = { method: true, path: true, host: true, handler: true }
const HANDLERS: readonly unknown[] = [undefined, 'rpc', 'api', 'event', 'proxy', 'web']

/**
 * Validates the declared route of an endpoint.
 *
 * @param name endpoint name for errors.
 * @throws {TypeError} naming the invalid part and the valid form.
 */
export function checkRoute(name: string, route: HttpRoute): void {
  const subject = `${name}: http`
  rejectUnknownOptions(subject, route, OPTIONS)
  for (const method of toTexts(`${subject}.method`, route.method))
    if (!METHODS.includes(method.toUpperCase()))
      throw new TypeError(`${subject}.method must be an HTTP method, got ${inspectShort(method)}`)
  for (const path of toTexts(`${subject}.path`, route.path)) checkPath(`${subject}.path`, path)
  if (route.host !== undefined) toTexts(`${subject}.host`, route.host)
  if (!HANDLERS.includes(route.handler))
    throw new TypeError(
      `${subject}.handler must be rpc, api, event, proxy or web, got ${inspectShort(route.handler)}`,
    )
}

function checkPath(subject: string, path: string): void {
  try {
    parsePath(path)
  } catch (cause) {
    const reason = (cause as RangeError).message
    throw new TypeError(
      `${subject} must be a template such as /items/{id}, got ${inspectShort(path)}: ${reason}`,
      { cause },
    )
  }
}

/** One or more strings, each of which may be a comma-separated list, as in the registry. */
function toTexts(subject: string, value: string | readonly string[]): string[] {
  const texts: unknown[] = [value].flat()
  if (texts.length === 0 || !texts.every((text) => typeof text === 'string'))
    throw new TypeError(
      `${subject} must be a string or a list of strings, got ${inspectShort(value)}`,
    )
  return texts.flatMap((text) => text.split(',')).map((text) => text.trim())
}
