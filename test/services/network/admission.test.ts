import t from 'tap'
import { type AdmissionOptions, createAdmission } from '../../../services/network/admission.ts'

const open = (id: string, options: Partial<AdmissionOptions> = {}) =>
  createAdmission({
    id,
    network: 'mx',
    address: () => `mx://${id}:1`,
    token: '',
    isOpen: true,
    ...options,
  })

/** Error of a link from one server to another, or undefined if it is accepted. */
function authorize(
  connector: ReturnType<typeof open>,
  acceptor: ReturnType<typeof open>,
): string | undefined {
  const pair = { caller: connector.createHello(), callee: acceptor.createHello() }
  try {
    acceptor.authenticate('caller', connector.prove('caller', pair), pair)
    connector.authenticate('callee', acceptor.prove('callee', pair), pair)
    return undefined
  } catch (error) {
    const { id, code, message } = error as { id: string; code: number; message: string }
    return `${id} ${code} ${message}`
  }
}

t.test('servers of one network may link with the same token, or both without a token', (t) => {
  t.equal(authorize(open('a'), open('b')), undefined)
  t.equal(authorize(open('a', { token: 's' }), open('b', { token: 's' })), undefined)
  t.end()
})

t.test(
  'without a token on either side, a link is rejected with 403 unless the network is open',
  (t) => {
    for (const token of ['', 's'])
      t.equal(
        authorize(open('a', { token }), open('b', { isOpen: false })),
        'network 403 server b has no network_token, which is required to link',
      )
    t.equal(
      authorize(open('a', { isOpen: false }), open('b')),
      'network 403 server a has no network_token, which is required to link',
    )
    t.equal(
      authorize(open('a', { token: 's', isOpen: false }), open('b', { token: 's' })),
      undefined,
    )
    t.end()
  },
)

t.test('rejects a wrong token, and a token on one side only, with 403', (t) => {
  for (const [first, second] of [
    ['s', ''],
    ['', 's'],
    ['s', 'S'],
  ] as const)
    t.equal(
      authorize(open('a', { token: first }), open('b', { token: second })),
      'network 403 network_token of server a does not match the token of b',
    )
  t.end()
})

t.test('rejects a server of another network with 409', (t) => {
  t.equal(
    authorize(open('a', { network: 'x' }), open('b')),
    'network 409 server a belongs to network x, b to network mx',
  )
  t.end()
})

t.test('rejects another server with the same id with 409, but a server may link to itself', (t) => {
  t.equal(
    authorize(open('a'), open('a')),
    'network 409 duplicate server id a: the other server uses a copy of the data folder; give it a different id',
  )
  const a = open('a')
  t.equal(authorize(a, a), undefined)
  t.ok(a.isSelf(a.createHello()))
  t.notOk(a.isSelf(open('a').createHello()))
  t.end()
})

t.test('each introduction has a new nonce', (t) => {
  const a = open('a')
  const [first, second] = [a.createHello(), a.createHello()]
  t.not(first.nonce, second.nonce)
  t.strictSame({ ...first, nonce: '' }, { ...second, nonce: '' })
  t.match(first, { version: 2, network: 'mx', id: 'a', address: 'mx://a:1' })
  t.end()
})
