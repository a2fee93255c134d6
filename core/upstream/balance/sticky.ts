import { createHmac } from 'node:crypto'
import type { Exchange } from '../../exchange.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'
import { type CookieSpan, findCookie } from './cookie.ts'
import type { Balancer, StickyOptions } from './policy.ts'

export interface Sticky {
  /** Prefers the node in the cookie, if it is in `usable`, over the choice of `base`. */
  readonly wrap: (base: Balancer, usable: readonly UpstreamNode[]) => Balancer
  /** Returns the `Set-Cookie` value that binds the client to `node`, or undefined if it is already bound. */
  readonly replyCookie: (x: Exchange, node: UpstreamNode) => string | undefined
}

/** A node and its cookie value. */
interface Binding {
  readonly node: UpstreamNode
  readonly token: string
  readonly setCookie: string
}

const TOKEN_LENGTH = 16
/** Number of hex digits of a token that fit into a small integer, which is a key without allocation. */
const INDEX_LENGTH = 7

/**
 * Creates sticky balancing for a service. The cookie is HttpOnly, SameSite=Lax, Path=/, and Secure over TLS (RFC 6265
 * §4.1.2).
 */
export function createSticky(service: string, { cookie, secret = '' }: StickyOptions): Sticky {
  const name = cookie ?? `mx_node_${hash(secret, service).slice(0, 8)}`
  const span: CookieSpan = { text: '', from: 0, to: 0 }
  const bindings = new WeakMap<UpstreamNode, Binding>()

  const bindingOf = (node: UpstreamNode): Binding => {
    let binding = bindings.get(node)
    if (binding === undefined) {
      const token = hash(secret, `${service}/${node.id}`).slice(0, TOKEN_LENGTH)
      binding = { node, token, setCookie: `${name}=${token}; Path=/; HttpOnly; SameSite=Lax` }
      bindings.set(node, binding)
    }
    return binding
  }
  const names = (token: string): boolean =>
    span.to - span.from === TOKEN_LENGTH && span.text.startsWith(token, span.from)

  return {
    wrap(base, usable) {
      const byIndex = new Map<number, Binding>()
      for (const node of usable) {
        const binding = bindingOf(node)
        byIndex.set(Number.parseInt(binding.token.slice(0, INDEX_LENGTH), 16), binding)
      }
      const boundNode = (x: Exchange | undefined): UpstreamNode | undefined => {
        if (x === undefined || !findCookie(x.headers, name, span)) return undefined
        const binding = byIndex.get(readIndex(span))
        return binding !== undefined && names(binding.token) ? binding.node : undefined
      }
      return {
        pick(x, tried) {
          const node = boundNode(x)
          return node === undefined || node === tried ? base.pick(x, tried) : node
        },
        isBound: (x) => boundNode(x) !== undefined,
      }
    },

    replyCookie(x, node) {
      const { token, setCookie } = bindingOf(node)
      if (findCookie(x.headers, name, span) && names(token)) return undefined
      return x.secure ? `${setCookie}; Secure` : setCookie
    },
  }
}

function hash(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

/** Returns the first hex digits of a token as a number, or -1 if they are not hexadecimal. */
function readIndex({ text, from }: CookieSpan): number {
  let value = 0
  for (let i = from; i < from + INDEX_LENGTH; i++) {
    const code = text.charCodeAt(i)
    if (code >= 48 && code <= 57) value = value * 16 + code - 48
    else if (code >= 97 && code <= 102) value = value * 16 + code - 87
    else return -1
  }
  return value
}
