import { join } from 'node:path'
import t from 'tap'
import { readAuthorities } from '../../../../core/listener/tls/read-authorities.ts'
import { createCertificate, createCertificateFolder } from '../../../fixtures/certificates.ts'

const folder = createCertificateFolder(t)

t.test('readAuthorities returns the certificates of a file without other text', (t) => {
  const [first, second] = ['a.test', 'b.test'].map((name) => createCertificate([name]).cert.trim())
  const { certFile } = folder.write('two', {
    cert: `a comment\n${first}\n# another\n${second}\n`,
    key: '',
  })
  t.equal(readAuthorities(certFile, 'acme_ca_file'), `${first}\n${second}`)
  t.end()
})

t.test('the error for a file without valid certificates names setting and file', (t) => {
  const { cert, key } = createCertificate(['a.test'])
  const { certFile, keyFile } = folder.write('odd', {
    cert: cert.replace(/\n.{64}\r?\n/, '\n'),
    key,
  })
  t.throws(() => readAuthorities(keyFile, 'acme_ca_file'), {
    message: `acme_ca_file ${keyFile} contains no PEM certificate`,
  })
  t.throws(() => readAuthorities(certFile, 'acme_ca_file'), {
    message: `acme_ca_file ${certFile} contains a malformed certificate`,
  })
  t.throws(() => readAuthorities(join(folder.path, 'none.pem'), 'acme_ca_file'), {
    message: /^acme_ca_file .*none\.pem cannot be read: ENOENT[^\n]*$/,
  })
  t.throws(() => readAuthorities(folder.path, 'acme_ca_file'), { message: /EISDIR[^\n]*$/ })
  t.end()
})
