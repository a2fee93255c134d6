import { METHODS } from 'node:http'
import { show } from '../core/plugin-options.ts'
import { type KnownOptions, refuseUnknown } from './known-options.ts'

/** The HTTP route of an endpoint, besides its path by name (specification: the default handler). */
export interface HttpRoute {
  /** `GET`, or several. */
  readonly method: string | readonly string[]
  /** Template, `/greet/{name}`, or several. */
  readonly path: string | readonly string[]
  /** Host name, or several. @default any */
  readonly host?: string | readonly string[]
  /** @default rpc */
  readonly handler?: 'rpc' | 'api' | 'event' | 'proxy' | 'web'
}

const OPTIONS: KnownOptions<HttpRoute> = { method: true, path: true, host: true, handler: true }
const HANDLERS: readonly unknown[] = [undefined, 'rpc', 'api', 'event', 'proxy', 'web']
/** What every template is like; gateways read it closely. */
const PATH = /^(?:\/(?:[^\s{}]|\{[A-Za-z_][\w.]*(?:=[^\s{}]*)?\})*|\^\S*\$)$/

/**
 * Checks the route an endpoint declares.
 *
 * @throws {TypeError} naming what is wrong and what would be right.
 */
export function checkRoute(route: HttpRoute): void {
  refuseUnknown('http', route, OPTIONS)
  for (const method of toTexts('method', route.method))
    if (!METHODS.includes(method.toUpperCase()))
      throw new TypeError(`http.method must be an HTTP method, got ${show(method)}`)
  for (const path of toTexts('path', route.path))
    if (!PATH.test(path))
      throw new TypeError(`http.path must be a template such as /items/{id}, got ${show(path)}`)
  if (route.host !== undefined) toTexts('host', route.host)
  if (!HANDLERS.includes(route.handler))
    throw new TypeError(
      `http.handler must be rpc, api, event, proxy or web, got ${show(route.handler)}`,
    )
}

/** One text or several, each of which may list some with commas in between, as in a registry. */
function toTexts(name: string, value: string | readonly string[]): string[] {
  const texts: unknown[] = [value].flat()
  if (texts.length === 0 || !texts.every((text) => typeof text === 'string'))
    throw new TypeError(`http.${name} must be text, or a list of texts, got ${show(value)}`)
  return texts.flatMap((text) => text.split(',')).map((text) => text.trim())
}
