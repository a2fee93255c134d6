import t from 'tap'
import { appendParsed } from '../../../../core/http/headers.ts'
import type { BalanceOptions } from '../../../../core/upstream/balance/policy.ts'
import type { UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { TestExchange } from '../../../../sdk/testing.ts'
import { makeNode, makeService, makeUpstream } from '../../../fixtures/services.ts'

const sticky: BalanceOptions = { kind: 'round-robin', sticky: {} }

/** Request of a browser that received `setCookie`. */
function createReturningRequest(setCookie: string | undefined, more = ''): TestExchange {
  return new TestExchange({ headers: { cookie: `${more}${setCookie!.split(';')[0]}` } })
}

t.test('a new client gets a cookie and stays on its node', async (t) => {
  const upstream = makeUpstream([1, 1, 1], { balance: sticky })
  for (const node of upstream.nodes) {
    const setCookie = upstream.replyCookie?.(new TestExchange(), node)
    t.match(setCookie, /^mx_node_[0-9a-f]{8}=[0-9a-f]{16}; Path=\/; HttpOnly; SameSite=Lax$/)
    const x = createReturningRequest(setCookie, 'a=b; ')
    for (let i = 0; i < 5; i++) t.equal(upstream.pick(x), node)
    t.equal(upstream.replyCookie?.(x, node), undefined, 'no second cookie')
  }
})

t.test('over TLS the cookie is Secure', async (t) => {
  const upstream = makeUpstream([1, 1], { balance: sticky })
  const setCookie = upstream.replyCookie?.(new TestExchange({ secure: true }), upstream.nodes[0]!)
  t.match(setCookie, /; SameSite=Lax; Secure$/)
})

t.test('a client whose node is ejected or was tried is moved to another node', async (t) => {
  const upstream = makeUpstream([1, 1, 1], { balance: sticky, nowMs: () => 0 })
  const [node] = upstream.nodes as [UpstreamNode]
  const x = createReturningRequest(upstream.replyCookie?.(new TestExchange(), node))
  const second = upstream.pick(x, node)!
  t.not(second, node)
  t.match(upstream.replyCookie?.(x, second), /^mx_node_/)
  upstream.failed(node, 'connect')
  t.not(upstream.pick(x), node)
})

t.test('a client whose node was removed is moved to another node', async (t) => {
  const upstream = makeUpstream([1, 1], { balance: sticky })
  const [ejected, stays] = upstream.nodes as [UpstreamNode, UpstreamNode]
  const x = createReturningRequest(upstream.replyCookie?.(new TestExchange(), ejected))
  upstream.update([makeService('greeter', [makeNode('127.0.0.1:9002', { weight: '1' })])])
  t.equal(upstream.pick(x), stays)
})

t.test(
  'the request of a client that is bound to a healthy node is not used as a trial',
  async (t) => {
    let now = 0
    const upstream = makeUpstream([1, 1], { balance: sticky, nowMs: () => now })
    const [unhealthy, up] = upstream.nodes as [UpstreamNode, UpstreamNode]
    const bound = createReturningRequest(upstream.replyCookie?.(new TestExchange(), up))
    upstream.failed(unhealthy, 'connect')
    now = 30_000
    t.equal(upstream.pick(bound), up)
    t.equal(
      upstream.pick(new TestExchange()),
      unhealthy,
      'the request of a new client is the trial',
    )
  },
)

t.test('an invalid cookie is treated like no cookie', async (t) => {
  const upstream = makeUpstream([1, 1], {
    balance: { kind: 'round-robin', sticky: { cookie: 'n' } },
  })
  const validCookie = upstream.replyCookie!(new TestExchange(), upstream.nodes[0]!)!.slice(2, 18)
  const forged = [
    '',
    'zz',
    '-1',
    validCookie.slice(0, 15),
    `${validCookie}0`,
    `${validCookie.slice(0, 15)}g`,
    '0'.repeat(16),
  ]
  for (const value of [...forged, validCookie.toUpperCase().replace(/\d/g, 'F'), '😀'.repeat(8)]) {
    const x = new TestExchange()
    appendParsed(x.headers, 'cookie', `n=${value}`)
    const picked = new Set([upstream.pick(x), upstream.pick(x)])
    t.equal(picked.size, 2, `${JSON.stringify(value)} is balanced`)
    t.ok(upstream.replyCookie?.(x, upstream.nodes[0]!), 'a new cookie is set')
  }
})

t.test('services have different cookie names, unless a name is configured', async (t) => {
  const getName = (service: string, cookie?: string): string => {
    const upstream = makeUpstream([1], {
      balance: { kind: 'p2c', sticky: cookie === undefined ? {} : { cookie } },
      name: service,
    })
    return upstream.replyCookie!(new TestExchange(), upstream.nodes[0]!)!.split('=')[0]!
  }
  t.not(getName('a'), getName('b'))
  t.equal(getName('a'), getName('a'))
  t.equal(getName('a', 'sid'), 'sid')
})

t.test('the cookie value depends on the secret', async (t) => {
  const getCookie = (secret?: string): string | undefined => {
    const options = secret === undefined ? { cookie: 'n' } : { cookie: 'n', secret }
    const upstream = makeUpstream([1], { balance: { kind: 'random', sticky: options } })
    return upstream.replyCookie?.(new TestExchange(), upstream.nodes[0]!)
  }
  t.not(getCookie('one'), getCookie())
  t.not(getCookie('one'), getCookie('two'))
  t.equal(getCookie('one'), getCookie('one'), 'equal in every gateway with the same secret')
})

t.test('without sticky balancing no cookie is set', async (t) => {
  t.equal(makeUpstream([1]).replyCookie, undefined)
})

t.test('calls that are not HTTP requests are not sticky and can be trials', async (t) => {
  let now = 0
  const upstream = makeUpstream([1, 1], { balance: sticky, nowMs: () => now })
  const [first, second] = upstream.nodes as [UpstreamNode, UpstreamNode]
  const picked = Array.from({ length: 4 }, () => upstream.pick(undefined))
  t.strictSame(picked, [first, second, first, second])
  upstream.failed(first, 'connect')
  t.equal(upstream.pick(undefined), second)
  now = 30_000
  t.equal(upstream.pick(undefined), first)
})
