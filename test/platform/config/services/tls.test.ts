import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { lintConfiguration } from '../../../../platform/config/lint.ts'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import type { ConfigFile } from '../../../../platform/config/types.ts'
import { mergeSettings, SettingsError } from '../../../../platform/settings/sources.ts'
import { createCertificate } from '../../../fixtures/certificates.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

function makeFolder(t: Test): string {
  const folder = makeTempFolder(t, 'parse-tls')
  const { cert, key } = createCertificate(['a.test'], { hasOwnKey: true })
  const old = createCertificate(['a.test'], { hasOwnKey: true, notAfter: new Date(0) })
  const files = {
    ...{ 'a.pem': cert, 'a.key': key, 'old.pem': old.cert, 'old.key': old.key },
    ...{ 'empty.pem': '', 'bad.pem': cert.replace(/M.*/, 'MIIB') },
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

function parse(folder: string, tls: string, node = 'https://h:1'): ConfigFile {
  const text = `handler: proxy\nservices:\n  a:\n    nodes: ["${node}"]\n    tls: ${tls}\n`
  return parseConfig(text, join(folder, 'mx.yaml'))
}

t.test('reads the files, which are relative to the folder of the configuration', async (t) => {
  const folder = makeFolder(t)
  const { services } = parse(
    folder,
    '{ ca: a.pem, cert: ./a.pem, key: a.key, server_name: b.test }',
  )
  t.match(services[0]?.tls, {
    ...{ serverName: 'b.test', isVerified: true, warnings: [] },
    files: ['a.pem', 'a.pem', 'a.key'].map((name) => join(folder, name)),
  })
  const same = parse(folder, '{ ca: a.pem, cert: a.pem, key: a.key, server_name: b.test }')
  t.equal(same.services[0]?.tls?.id, services[0]?.tls?.id)
  writeFileSync(join(folder, 'a.pem'), `${readFileSync(join(folder, 'a.pem'), 'utf8')}\n`)
  const other = parse(folder, '{ ca: a.pem, cert: a.pem, key: a.key, server_name: b.test }')
  t.not(other.services[0]?.tls?.id, services[0]?.tls?.id, 'the contents of a file changed')
  t.notMatch(JSON.stringify(services[0]), 'PRIVATE', 'the key cannot be printed')
})

t.test('reports invalid settings with their position', async (t) => {
  const folder = makeFolder(t)
  const rows: [tls: string, problem: RegExp][] = [
    ['true', /:5:10: tls of service "a" must be a map/],
    [
      '{}',
      /:5:5: tls of service "a" needs one of ca, cert, key, server_name, insecure_skip_verify/,
    ],
    ['{ cacert: a }', /:5:12: unknown key "cacert" of tls of service "a"/],
    ['{ ca: "" }', /:5:16: ca of service "a" must be a file/],
    ['{ ca: none.pem }', /:5:16: .*TLS CA file .*none\.pem cannot be read: ENOENT/],
    ['{ ca: empty.pem }', /:5:16: .*empty\.pem contains no PEM certificate/],
    ['{ ca: bad.pem }', /:5:16: .*bad\.pem contains a malformed certificate/],
    ['{ cert: a.pem }', /:5:5: tls of service "a" has cert but no key/],
    ['{ key: a.key }', /:5:5: tls of service "a" has key but no cert/],
    ['{ cert: a.pem, key: none.key }', /:5:18: .*TLS key file .*none\.key cannot be read/],
    ['{ cert: a.pem, key: old.key }', /:5:18: .*old\.key does not belong to certificate .*a\.pem/],
    ['{ server_name: 10.0.0.1 }', /:5:25: server_name of service "a" must be a DNS name/],
    ['{ server_name: "a b" }', /:5:25: server_name of service "a" must be a DNS name/],
    ['{ insecure_skip_verify: maybe }', /:5:34: insecure_skip_verify .* must be true or false/],
  ]
  for (const [tls, problem] of rows) {
    try {
      parse(folder, tls)
      t.fail(`${tls} is rejected`)
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      t.equal(error.problems.length, 1, tls)
      t.match(error.problems[0], problem, tls)
    }
  }
})

t.test('warns about unused, insecure and expired settings', async (t) => {
  const folder = makeFolder(t)
  const lint = (tls: string, node?: string): readonly string[] => {
    const config = parse(folder, tls, node)
    const { settings: inputs } = config
    return lintConfiguration({ settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' })
  }
  t.strictSame(lint('{ ca: a.pem }'), [])
  t.strictSame(lint('{ ca: a.pem }', 'grpcs://h:1'), [])
  t.match(lint('{ ca: a.pem }', 'h:1'), [
    /mx\.yaml:5:5: tls of service go\.mx\.api\.a has no effect: write its nodes as https:/,
  ])
  t.match(lint('{ insecure_skip_verify: true }'), [
    /mx\.yaml:5:5: insecure_skip_verify lets any server pose as a node of service go\.mx\.api\.a/,
  ])
  t.match(lint('{ cert: old.pem, key: old.key }'), [/mx\.yaml:5:5: .*old\.pem expired on/])
})
