import { generateKeyPairSync } from 'node:crypto'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { issueToken, nameKey } from '../../../core/auth/token/access-token.ts'
import type { Account, AuthSource } from '../../../core/contracts/auth.ts'
import type { Micro } from '../micro.ts'

const TOKENS = 1000
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const key = { id: nameKey(publicKey), privateKey }
const source: AuthSource = {
  async *watchRules() {},
  async *watchNamespaces() {},
  async *watchTokens(signal) {
    yield { keys: new Map([[key.id, publicKey]]), isRevoked: () => false }
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  },
}
const authorizer = createAuthorizer(source)
const tokens = await Promise.all(
  Array.from({ length: TOKENS }, (_, i) => {
    const id = `account${i}`
    const account: Account = {
      ...({ id, name: id, type: 'user', issuer: 'mx' } as const),
      scopes: ['staff'],
      metadata: {},
    }
    return issueToken(account, { key, id, nowMs: Date.now(), lifeS: 3600 })
  }),
)
for (const token of tokens) await authorizer.identify(token)
/** Tokens as received in requests: slices that V8 has not flattened or hashed yet. */
const fields = Buffer.from(tokens.map((token) => token.padEnd(1000)).join(''), 'latin1')
const lengths = tokens.map(({ length }) => length)
let next = 0

function nextAddress(): string {
  next = next + 1 === TOKENS ? 0 : next + 1
  return fields.toString('latin1', next * 1000, next * 1000 + lengths[next]!)
}

const micro: Micro = {
  benches: {
    'a token, read only': nextAddress,
    'cached token': () => authorizer.identify(nextAddress()),
  },
  budgetNs: { 'cached token': 1000 },
  close: () => authorizer.close(),
}

export default micro
