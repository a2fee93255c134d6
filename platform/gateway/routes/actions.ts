import type { Handler } from '../../../core/chain.ts'
import { schemeOf } from '../../../core/http/scheme.ts'
import type { Render } from './rewrite.ts'

export interface RedirectOptions {
  /** Undefined: scheme of the request. */
  readonly scheme: 'http' | 'https' | undefined
  /** Host, or host and port; undefined: host of the request. */
  readonly host: Render | undefined
  /** Undefined: path and query of the request. */
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
  /** Names and values. */
  readonly headers: readonly string[]
}

/** Responds with a constant. */
export function createRespond({ status, body, headers }: RespondOptions): Handler {
  return {
    name: 'respond',
    handle(x) {
      x.reply(status, body, headers)
    },
  }
}

/** The port of the request belongs to its scheme. */
function withoutPort(host: string, scheme: string | undefined): string {
  return scheme === undefined ? host : host.replace(/:\d+$/, '')
}
