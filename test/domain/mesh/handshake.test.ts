import t from 'tap'
import {
  createNonce,
  deriveLinkKey,
  type Introduction,
  isNetworkName,
  isProof,
  LINK_VERSION,
  prove,
  readIntroduction,
} from '../../../domain/mesh/handshake.ts'

const make = (id: string): Introduction => ({
  version: LINK_VERSION,
  network: 'mx',
  id,
  instance: createNonce(),
  address: 'mx://127.0.0.1:1',
  nonce: createNonce(),
})
const SECRET = deriveLinkKey('secret')
const pair = { caller: make('a'), callee: make('b') }

t.test('accepts a proof only with the token, for this peer and this link', (t) => {
  const proof = prove(SECRET, 'caller', pair)
  t.ok(isProof(proof, SECRET, 'caller', pair))
  t.notOk(isProof(proof, deriveLinkKey('other'), 'caller', pair))
  t.notOk(isProof(proof, SECRET, 'callee', pair), 'the proof of one role is invalid for the other')
  for (const role of ['caller', 'callee'] as const)
    for (const field of ['id', 'nonce', 'network', 'address', 'instance'] as const) {
      const other = { ...pair, [role]: { ...pair[role], [field]: 'x' } }
      t.notOk(isProof(proof, SECRET, 'caller', other), `${role} ${field}`)
    }
  for (const invalid of ['', proof.slice(1), `${proof}0`, undefined, 1])
    t.notOk(isProof(invalid, SECRET, 'caller', pair))
  t.notMatch(proof, 'secret')
  t.end()
})

t.test('accepts an empty proof without a token', (t) => {
  const none = deriveLinkKey('')
  t.ok(isProof(prove(none, 'caller', pair), none, 'caller', pair))
  t.notOk(isProof(prove(none, 'caller', pair), SECRET, 'caller', pair))
  t.end()
})

t.test('reads an introduction and ignores unknown fields', (t) => {
  t.strictSame(readIntroduction({ ...pair.caller, more: 1 }), pair.caller)
  t.strictSame(readIntroduction({ ...pair.caller, address: '' }).address, '')
  t.end()
})

t.test('rejects an invalid introduction with the name of the field', (t) => {
  const invalid: [field: string, value: unknown, message: RegExp][] = [
    ['version', 1, /^version must be 2, got 1$/],
    ['network', '', /^network must be 1 to 253 visible ASCII characters, got ""$/],
    ['network', 'a b', /^network must/],
    ['id', '@', /^id must be 1 to 100 letters.*, got "@"$/],
    ['id', undefined, /^id must be .* got undefined$/],
    ['address', 'a:1', /^address must be empty, mx:\/\/host:port or mxs:\/\/host:port, got "a:1"$/],
    ['instance', 'x', /^instance must be 32 hexadecimal digits, got "x"$/],
    ['nonce', ['0'.repeat(32)], /^nonce must be 32 hexadecimal digits/],
    ['id', 'x'.repeat(1000), /^.{1,250}$/],
  ]
  for (const [field, value, message] of invalid)
    t.throws(
      () => readIntroduction({ ...pair.caller, [field]: value }),
      { name: 'TypeError', message },
      field,
    )
  t.end()
})

t.test('checks network names', (t) => {
  t.ok(isNetworkName('mx'))
  for (const name of ['', 'a b', 'a\n', 'x'.repeat(254)]) t.notOk(isNetworkName(name))
  t.end()
})
