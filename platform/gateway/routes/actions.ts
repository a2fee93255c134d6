import type { Handler } from '../../../core/chain.ts'
import { schemeOf } from '../../../core/http/scheme.ts'
import type { Render } from './rewrite/rewrite.ts'

export interface RedirectOptions {
  /** Scheme of the target; the request's scheme if undefined. */
  readonly scheme: 'http' | 'https' | undefined
  /** Host, optionally with a port; the request's host if undefined. */
  readonly host: Render | undefined
  /** Path of the target; the request's path and query if undefined. */
  readonly path: Render | undefined
  readonly status: number
}

/** Redirects to another URL (RFC 9110 §15.4). */
export function createRedirect({ scheme, host, path, status }: RedirectOptions): Handler {
  return {
    name: 'redirect',
    handle(x) {
      const target = path?.(x) ?? x.target
      x.reply(status, '', [
        'location',
        `${scheme ?? schemeOf(x)}://${host?.(x) ?? withoutPort(x.host, scheme)}${target}`,
      ])
    },
  }
}

export interface RespondOptions {
  readonly status: number
  readonly body: string
  /** Alternating header names and values. */
  readonly headers: readonly string[]
}

/** Responds with a fixed response. */
export function createRespond({ status, body, headers }: RespondOptions): Handler {
  return {
    name: 'respond',
    handle(x) {
      x.reply(status, body, headers)
    },
  }
}

/** Removes the port if the scheme changes, because the request's port belongs to its scheme. */
function withoutPort(host: string, scheme: string | undefined): string {
  return scheme === undefined ? host : host.replace(/:\d+$/, '')
}
