import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  type Certificate,
  findTlsPair,
  indexTlsPairs,
  loadTls,
  toTlsPair,
  withTlsFiles,
} from '../../../../../core/listener/tls/tls.ts'
import { createCertificate, createCertificateFolder } from '../../../../fixtures/certificates.ts'
import { keepAlive } from '../../../../fixtures/keep-alive.ts'
import { waitUntil } from '../../../../fixtures/raw-backend.ts'
import { UNSERVABLE } from '../../../../fixtures/unservable-certificates.ts'

const folder = createCertificateFolder(t)
const noWarning = (t: { fail: (message: string) => unknown }) => ({
  warn: (message: string) => void t.fail(message),
})

t.test('reads a certificate with its DNS names', (t) => {
  const certificate = createCertificate(['Www.Example.test', '*.example.test', '127.0.0.1'])
  const files = folder.write('names', certificate)
  const { pairs } = loadTls([files], noWarning(t))
  t.same(pairs, [{ ...certificate, names: ['www.example.test', '*.example.test'] }])
  t.equal(pairs.length, 1)
  t.end()
})

t.test('uses the common name of a certificate without alternative names', (t) => {
  const files = folder.write('common', createCertificate(['old.example.test'], { altNames: false }))
  t.same(loadTls([files], noWarning(t)).pairs[0]!.names, ['old.example.test'])
  t.end()
})

t.test('accepts a chain after the certificate, whose key must match the first one', (t) => {
  const leaf = createCertificate(['leaf.test'])
  const issuer = createCertificate(['issuer.test'], { hasOwnKey: true })
  const chain = `a comment\n${leaf.cert}\n${issuer.cert}`
  const right = folder.write('chain', { cert: chain, key: leaf.key })
  t.equal(loadTls([right], noWarning(t)).pairs[0]!.cert, chain)
  const reversed = folder.write('reversed', { cert: chain, key: issuer.key })
  t.throws(() => loadTls([reversed]), {
    message: `TLS certificate ${reversed.certFile} must be the first in its file, before its chain`,
  })
  const { key } = createCertificate(['other.test'], { hasOwnKey: true })
  const invalid = folder.write('wrong', { cert: chain, key })
  t.throws(() => loadTls([invalid]), {
    message: `TLS key ${invalid.keyFile} does not belong to certificate ${invalid.certFile}`,
  })
  t.end()
})

t.test('the error for an unsupported key names its file', (t) => {
  for (const { kind, ...texts } of UNSERVABLE) {
    const files = folder.write('unservable', texts)
    t.throws(
      () => loadTls([files]),
      { message: new RegExp(`^TLS key ${files.keyFile} must be RSA`) },
      kind,
    )
  }
  t.end()
})

t.test('removes a byte order mark before certificate and key', (t) => {
  const { cert, key } = createCertificate(['mark.test'])
  const files = folder.write('mark', { cert: `\uFEFF${cert}`, key: `\uFEFF${key}` })
  t.match(loadTls([files], noWarning(t)).pairs, [{ cert, key }])
  t.end()
})

t.test('the error for an unusable certificate or key is one line that names the file', (t) => {
  const { cert, key } = createCertificate(['a.test'])
  const encrypted =
    '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n'
  const damaged = cert.replace(/\n.{64}\r?\n/, '\n')
  const cases: [string, { cert: string; key: string }, 'certFile' | 'keyFile', string][] = [
    ['an empty certificate', { cert: '', key }, 'certFile', 'contains no PEM certificate'],
    [
      'a key in place of a certificate',
      { cert: key, key },
      'certFile',
      'contains no PEM certificate',
    ],
    [
      'a damaged certificate',
      { cert: damaged, key },
      'certFile',
      'contains a malformed certificate',
    ],
    [
      'a damaged second certificate',
      { cert: cert + damaged, key },
      'certFile',
      'contains a malformed certificate',
    ],
    ['an empty key', { cert, key: '' }, 'keyFile', 'contains no private key in PEM form'],
    [
      'a certificate in place of a key',
      { cert, key: cert },
      'keyFile',
      'contains no private key in PEM form',
    ],
    [
      'an encrypted key',
      { cert, key: encrypted },
      'keyFile',
      'contains an encrypted key; decrypt it first',
    ],
  ]
  for (const [title, texts, file, reason] of cases) {
    const files = folder.write('bad', texts)
    const description = file === 'certFile' ? 'certificate' : 'key'
    t.throws(
      () => loadTls([files]),
      { message: `TLS ${description} file ${files[file]} ${reason}` },
      title,
    )
  }
  const validCertificate = folder.write('good', { cert, key })
  const missing = join(folder.path, 'missing.pem')
  t.throws(() => loadTls([{ ...validCertificate, certFile: missing }]), {
    message: /^TLS certificate file .*missing\.pem cannot be read: ENOENT[^\n]*$/,
  })
  t.throws(() => loadTls([{ ...validCertificate, keyFile: folder.path }]), {
    message: /^TLS key file .* cannot be read: EISDIR[^\n]*$/,
  })
  t.throws(() => loadTls([]), /at least one certificate/)
  t.end()
})

t.test('serves an expired certificate with a warning', (t) => {
  const files = folder.write(
    'expired',
    createCertificate(['a.test'], { notAfter: new Date(Date.now() - 60_000) }),
  )
  const warnings: string[] = []
  t.equal(loadTls([files], { warn: (message) => warnings.push(message) }).pairs.length, 1)
  t.match(warnings, [new RegExp(`^TLS certificate ${files.certFile} expired on `)])
  t.equal(warnings.length, 1)
  t.end()
})

t.test('reload replaces certificates and notifies listeners only of changes', (t) => {
  const files = folder.write('reload', createCertificate(['one.test']))
  const source = loadTls([files], noWarning(t))
  const messages: (readonly Certificate[])[] = []
  const stop = source.onChange((pairs) => messages.push(pairs))
  source.reload()
  t.equal(messages.length, 0, 'nothing has changed')
  folder.write('reload', createCertificate(['two.test']))
  source.reload()
  t.same(
    messages.map((pairs) => pairs[0]!.names),
    [['two.test']],
  )
  t.equal(source.pairs, messages[0])
  stop()
  folder.write('reload', createCertificate(['three.test']))
  source.reload()
  t.equal(messages.length, 1)
  t.same(source.pairs[0]!.names, ['three.test'])
  t.end()
})

t.test('a failed reload changes none of the certificates', (t) => {
  const first = folder.write('first', createCertificate(['first.test']))
  const second = folder.write('second', createCertificate(['second.test']))
  const source = loadTls([first, second], noWarning(t))
  const { pairs } = source
  source.onChange(() => t.fail('no change must be reported'))
  folder.write('first', createCertificate(['new.test']))
  writeFileSync(second.keyFile, createCertificate(['x.test'], { hasOwnKey: true }).key)
  t.throws(() => source.reload(), {
    message: `TLS key ${second.keyFile} does not belong to certificate ${second.certFile}`,
  })
  t.equal(source.pairs, pairs)
  t.end()
})

t.test('starts with the previous certificates if the files cannot be loaded', (t) => {
  const files = folder.write('last', createCertificate(['one.test']))
  const { pairs: last } = loadTls([files], noWarning(t))
  t.equal(loadTls([files], { last, ...noWarning(t) }).pairs[0], last[0], 'the same certificate')
  writeFileSync(files.certFile, 'none')
  const warnings: string[] = []
  const source = loadTls([files], { last, warn: (message) => warnings.push(message) })
  t.equal(source.pairs, last)
  t.match(warnings, [/contains no PEM certificate; the previous certificates stay in use$/])
  folder.write('last', createCertificate(['two.test']))
  source.reload()
  t.same(source.pairs[0]!.names, ['two.test'])
  t.end()
})

t.test('a reload that a listener rejects has no effect, and the next one retries', (t) => {
  const files = folder.write('untaken', createCertificate(['one.test']))
  const source = loadTls([files], noWarning(t))
  const { pairs } = source
  let fails = true
  const accepted: (readonly Certificate[])[] = []
  source.onChange((changed) => {
    if (fails) throw new Error('not this one')
    accepted.push(changed)
  })
  folder.write('untaken', createCertificate(['two.test']))
  t.throws(() => source.reload(), { message: 'not this one' })
  t.equal(source.pairs, pairs)
  fails = false
  source.reload()
  t.equal(accepted.length, 1)
  t.equal(source.pairs, accepted[0])
  t.same(source.pairs[0]!.names, ['two.test'])
  t.end()
})

t.test('watched certificate files', async (t) => {
  const warnings: string[] = []
  const watched = createCertificateFolder(t)
  const files = watched.write('site', createCertificate(['0.test']))
  const source = loadTls([files], { warn: (message) => warnings.push(message), settleMs: 20 })
  t.teardown(() => source.close())
  // Neither a watch nor its delay keeps the process alive.
  keepAlive(t)
  source.watch()
  const changed = () =>
    new Promise<readonly string[]>((resolve) => {
      const stop = source.onChange((pairs) => {
        stop()
        resolve(pairs[0]!.names)
      })
    })

  await t.test('are reloaded when they are written', async (t) => {
    const change = changed()
    watched.write('site', createCertificate(['1.test']))
    t.same(await change, ['1.test'])
  })

  await t.test('are reloaded every time they are replaced', async (t) => {
    for (const name of ['2.test', '3.test', '4.test']) {
      const change = changed()
      const next = watched.write('next', createCertificate([name]))
      renameSync(next.keyFile, files.keyFile)
      renameSync(next.certFile, files.certFile)
      t.same(await change, [name])
    }
  })

  await t.test(
    'are reported while certificate and key do not match, and reloaded once they do',
    async (t) => {
      const { cert, key } = createCertificate(['5.test'], { hasOwnKey: true })
      warnings.length = 0
      writeFileSync(files.certFile, cert)
      await waitUntil(() => warnings.length > 0)
      t.match(
        warnings[0],
        /does not belong to certificate .*; the previous certificates stay in use$/,
      )
      t.same(source.pairs[0]!.names, ['4.test'])
      const change = changed()
      writeFileSync(files.keyFile, key)
      t.same(await change, ['5.test'])
    },
  )

  await t.test(
    'are reported once as invalid, even if other files of the folder change',
    async (t) => {
      warnings.length = 0
      const validCertificate = readFileSync(files.certFile)
      writeFileSync(files.certFile, 'junk')
      const log = join(watched.path, 'log')
      // Simulates a log in the same folder that receives the warning, and changes more often than the settle time.
      const writing = setInterval(() => appendFileSync(log, `${warnings.length}\n`), 5)
      t.teardown(() => clearInterval(writing))
      await waitUntil(() => warnings.length > 0)
      const { size } = statSync(log)
      await waitUntil(() => statSync(log).size >= size + 40)
      t.equal(warnings.length, 1)
      writeFileSync(files.certFile, validCertificate)
    },
  )

  await t.test('are reloaded when a symbolic link is switched', async (t) => {
    const linked = createCertificateFolder(t)
    const store = (version: string) => {
      mkdirSync(join(linked.path, version))
      const { certFile, keyFile } = linked.write('tls', createCertificate([`${version}.test`]))
      renameSync(certFile, join(linked.path, version, 'tls.crt'))
      renameSync(keyFile, join(linked.path, version, 'tls.key'))
    }
    store('v1')
    symlinkSync('v1', join(linked.path, 'data'))
    symlinkSync('data/tls.crt', join(linked.path, 'site.crt'))
    symlinkSync('data/tls.key', join(linked.path, 'site.key'))
    const site = { certFile: join(linked.path, 'site.crt'), keyFile: join(linked.path, 'site.key') }
    const source = loadTls([site], { settleMs: 20, ...noWarning(t) })
    t.teardown(() => source.close())
    source.watch()
    const names = new Promise((resolve) => source.onChange((pairs) => resolve(pairs[0]!.names)))
    store('v2')
    symlinkSync('v2', join(linked.path, 'data.new'))
    renameSync(join(linked.path, 'data.new'), join(linked.path, 'data'))
    t.same(await names, ['v2.test'])
  })

  await t.test('are not reloaded after close', async (t) => {
    await source.close()
    const { pairs } = source
    unlinkSync(files.certFile)
    watched.write('site', createCertificate(['6.test']))
    await new Promise((resolve) => setTimeout(resolve, 100))
    t.equal(source.pairs, pairs)
  })

  await t.test('in a deleted folder cause a warning, not an error', async (t) => {
    const deleted = createCertificateFolder(t)
    const messages: string[] = []
    const source = loadTls([deleted.write('a', createCertificate(['a.test']))], {
      warn: (message) => messages.push(message),
    })
    rmSync(deleted.path, { recursive: true })
    source.watch()
    await source.close()
    t.match(messages, [/^TLS folder .* cannot be watched: /])
  })
})

t.test('temporary files of a pair are private and are deleted afterwards', (t) => {
  const [pair] = loadTls([folder.write('lent', createCertificate(['a.test']))], noWarning(t)).pairs
  let currentFiles = { certFile: '', keyFile: '' }
  const result = withTlsFiles(pair!, (files) => {
    currentFiles = files
    t.equal(statSync(files.keyFile).mode & 0o777, 0o600)
    t.equal(statSync(dirname(files.keyFile)).mode & 0o777, 0o700)
    t.same(loadTls([files]).pairs[0]!.key, pair!.key)
    return 'result'
  })
  t.equal(result, 'result')
  t.notOk(existsSync(dirname(currentFiles.keyFile)))
  t.throws(
    () =>
      withTlsFiles(pair!, (files) => {
        currentFiles = files
        throw new Error('refused')
      }),
    /refused/,
  )
  t.notOk(existsSync(dirname(currentFiles.keyFile)))
  t.end()
})

t.test('finds the pair of a server name by exact name, then by wildcard', (t) => {
  const pair = (...names: string[]): Certificate => ({ cert: '', key: '', names })
  const first = pair('a.test', 'b.x.test')
  const second = pair('*.x.test', 'c.test')
  const third = pair('*.x.test', 'd.x.test', 'c.test')
  const index = indexTlsPairs([first, second, third])
  const expected: [string, Certificate | undefined][] = [
    ['a.test', first],
    ['A.Test', first],
    ['a.test.', first],
    ['b.x.test', first],
    ['e.x.test', second],
    ['d.x.test', third],
    ['c.test', second],
    ['e.f.x.test', undefined],
    ['x.test', undefined],
    ['test', undefined],
    ['', undefined],
    ['*.x.test', second],
  ]
  for (const [name, actual] of expected) t.equal(findTlsPair(index, name), actual, name)
  t.end()
})

t.test('serves a certificate that is not valid yet, with a warning about the clock', (t) => {
  const { cert, key } = createCertificate(['a.test'], {
    notBefore: new Date(Date.now() + 3_600_000),
    notAfter: new Date(Date.now() + 7_200_000),
  })
  const warnings: string[] = []
  const pair = toTlsPair({ cert, key }, { cert: 'its certificate', key: 'its key' }, (message) =>
    warnings.push(message),
  )
  t.same(pair.names, ['a.test'])
  t.match(warnings, [
    /^TLS certificate its certificate is not valid before .*; check the clock of this machine$/,
  ])
  t.end()
})
