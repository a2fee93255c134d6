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

/** What one server says to a link that another opens; undefined: it may be. */
function judge(from: ReturnType<typeof open>, by: ReturnType<typeof open>): string | undefined {
  const pair = { caller: from.introduce(), callee: by.introduce() }
  try {
    by.judge('caller', from.prove('caller', pair), pair)
    from.judge('callee', by.prove('callee', pair), pair)
    return undefined
  } catch (error) {
    const { id, code, message } = error as { id: string; code: number; message: string }
    return `${id} ${code} ${message}`
  }
}

t.test('servers of one network may link, with the same token or without any', (t) => {
  t.equal(judge(open('a'), open('b')), undefined)
  t.equal(judge(open('a', { token: 's' }), open('b', { token: 's' })), undefined)
  t.end()
})

t.test('without a token none may, on either side, unless that is asked for', (t) => {
  for (const token of ['', 's'])
    t.equal(
      judge(open('a', { token }), open('b', { isOpen: false })),
      'network 403 the server b has no network_token: without one none links',
    )
  t.equal(
    judge(open('a', { isOpen: false }), open('b')),
    'network 403 the server a has no network_token: without one none links',
  )
  t.equal(judge(open('a', { token: 's', isOpen: false }), open('b', { token: 's' })), undefined)
  t.end()
})

t.test('who does not know the token may not, nor who has one where there is none', (t) => {
  for (const [one, other] of [
    ['s', ''],
    ['', 's'],
    ['s', 'S'],
  ] as const)
    t.equal(
      judge(open('a', { token: one }), open('b', { token: other })),
      'network 403 the token of the server a is not that of b',
    )
  t.end()
})

t.test('nor a server of another network', (t) => {
  t.equal(
    judge(open('a', { network: 'x' }), open('b')),
    'network 409 the server a is of the network x, and b of mx',
  )
  t.end()
})

t.test('nor one with the same id; but a server may meet itself', (t) => {
  t.equal(
    judge(open('a'), open('a')),
    'network 409 another server has the id a, too: its data folder is a copy, and needs an id of its own',
  )
  const a = open('a')
  t.equal(judge(a, a), undefined)
  t.ok(a.isSelf(a.introduce()))
  t.notOk(a.isSelf(open('a').introduce()))
  t.end()
})

t.test('an introduction has a nonce of its own', (t) => {
  const a = open('a')
  const [one, other] = [a.introduce(), a.introduce()]
  t.not(one.nonce, other.nonce)
  t.strictSame({ ...one, nonce: '' }, { ...other, nonce: '' })
  t.match(one, { version: 2, network: 'mx', id: 'a', address: 'mx://a:1' })
  t.end()
})
