import { verify } from 'node:crypto'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { createBenchPlugin } from '../gateway-parts.ts'
import type { Micro } from '../micro.ts'
import { createBenchChain, createBenchSource, runChain } from './auth-parts.ts'

const TOKENS = 1000
/** Number of authorizers with an empty token cache; enough for one measurement. */
const AUTHORIZERS = 20

const { source, issue, publicKey } = createBenchSource(0)
const [cachedToken, ...tokens] = await issue(TOKENS + 1)
const closers: (() => void)[] = []

/** Runs an exchange through a chain with the `auth` plugin and an uncached token, at the times returned by `nowMs`. */
async function createFirst(nowMs: () => number) {
  const authorizers = Array.from({ length: AUTHORIZERS }, () => createAuthorizer(source, { nowMs }))
  closers.push(...authorizers.map(({ close }) => close))
  const resource = { type: 'service', name: 'service7', endpoint: 'Greeter.Hello' }
  for (const authorizer of authorizers) {
    await authorizer.decide({ namespace: 'mx', account: undefined, resource })
    await authorizer.identify(cachedToken!)
  }
  const chains = authorizers.map((authorizer) =>
    createBenchChain([createBenchPlugin('auth', {}, authorizer)]),
  )
  let i = 0
  return () => {
    const chain = chains[Math.floor(i / TOKENS)]
    if (chain === undefined) throw new RangeError('out of tokens')
    return runChain(chain, `Bearer ${tokens[i++ % TOKENS]}`)
  }
}

const [signed, signature] = split(tokens[0]!)

function split(token: string): [Buffer, Buffer] {
  const end = token.lastIndexOf('.')
  return [Buffer.from(token.slice(0, end)), Buffer.from(token.slice(end + 1), 'base64url')]
}

const startMs = Date.now()
let ms = startMs

const micro: Micro = {
  benches: {
    'signature alone': () => verify(null, signed, publicKey, signature),
    'uncached token': await createFirst(() => ++ms),
    'uncached token, another in the same millisecond': await createFirst(() => startMs),
  },
  budgetNs: { 'uncached token': 150_000 },
  close() {
    for (const close of closers) close()
  },
}

export default micro
