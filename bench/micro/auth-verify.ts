import { generateKeyPairSync } from 'node:crypto'
import { issueToken, nameKey, verifyToken } from '../../core/auth/access-token.ts'
import type { Micro } from './micro.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const key = { id: nameKey(publicKey), privateKey }
const keys = new Map([[key.id, publicKey]])
const token = await issueToken(
  {
    ...({ id: 'jane', name: 'jane', type: 'user', issuer: 'mx' } as const),
    scopes: ['staff'],
    metadata: {},
  },
  { key, id: 'session.1', nowMs: Date.now(), lifeS: 3600 },
)

const micro: Micro = {
  benches: { 'a token never seen before': () => verifyToken(token, keys, Date.now()) },
  budgetNs: { 'a token never seen before': 150_000 },
}

export default micro
