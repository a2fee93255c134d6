import { join } from 'node:path'
import t from 'tap'
import { toTls } from '../../../../../adapters/store/postgres/client/tls.ts'
import { parsePostgresUrl } from '../../../../../adapters/store/postgres/client/url.ts'
import { createCertificate, createCertificateFolder } from '../../../../fixtures/certificates.ts'

t.test('verifies the certificate according to sslmode', async (t) => {
  const of = (mode: string) => toTls(parsePostgresUrl(`postgres://h/d?sslmode=${mode}`))
  t.equal(of('disable'), false)
  t.same(of('require'), { rejectUnauthorized: false })
  t.same(of('verify-full'), { rejectUnauthorized: true })
  const verifyCa = of('verify-ca')
  t.match(verifyCa, { rejectUnauthorized: true, checkServerIdentity: Function })
})

t.test('reads files immediately and names an unreadable one', async (t) => {
  const folder = createCertificateFolder(t)
  const certificate = createCertificate(['localhost'])
  const { certFile, keyFile } = folder.write('client', certificate)
  const url = `postgres://h/d?sslrootcert=${certFile}&sslcert=${certFile}&sslkey=${keyFile}`
  const { ca, cert, key } = toTls(parsePostgresUrl(url)) as Record<string, Buffer>
  t.same([ca, cert, key].map(String), [certificate.cert, certificate.cert, certificate.key])
  const missing = join(folder.path, 'missing.pem')
  t.throws(() => toTls(parsePostgresUrl(`postgres://h/d?sslrootcert=${missing}`)), {
    message: /cannot read the sslrootcert for PostgreSQL: ENOENT.*missing\.pem/,
  })
})
