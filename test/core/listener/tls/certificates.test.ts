import t from 'tap'
import { createCertificateSource } from '../../../../core/listener/tls/certificates.ts'
import type { Certificate } from '../../../../core/listener/tls/tls.ts'

const pair: Certificate = { cert: 'c', key: 'k', names: ['a.test'] }

t.test('onChange receives new certificates until it is unsubscribed', (t) => {
  const tls = createCertificateSource()
  const events: (readonly Certificate[])[] = []
  const stop = tls.onChange((pairs) => events.push(pairs))
  t.same(tls.pairs, [])
  tls.use([pair])
  t.same(events, [[pair]])
  t.equal(tls.pairs[0], pair)
  stop()
  tls.use([])
  t.equal(events.length, 1)
  t.same(tls.pairs, [])
  t.end()
})

t.test('certificates that a listener rejects are not used', (t) => {
  const tls = createCertificateSource({ isStrict: true })
  t.equal(tls.isStrict, true)
  tls.onChange(() => {
    throw new Error('not this one')
  })
  t.throws(() => tls.use([pair]), { message: 'not this one' })
  t.same(tls.pairs, [])
  t.end()
})
