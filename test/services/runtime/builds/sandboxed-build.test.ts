import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSandbox } from '../../../../lib/process/sandbox/sandbox.ts'
import { MX_FOLDER } from '../../../../services/runtime/builds/languages/link-mx.ts'
import { createSandboxedBuilds } from '../../../../services/runtime/builds/sandboxed-build.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const skip = process.getuid?.() !== 0 && 'requires root'
const userIds = { first: 200_000, last: 200_009 }

async function open(t: Test) {
  const data = makeTempFolder(t, 'data')
  const secret = join(data, 'secret')
  writeFileSync(secret, 'secret', { mode: 0o600 })
  const source = join(data, 'source')
  mkdirSync(source)
  const folder = join(data, 'isolation')
  const { sandbox } = await openSandbox({ folder, hidden: data, userIds, installed: [MX_FOLDER] })
  const builds = createSandboxedBuilds({
    ...{ sandbox: sandbox!, namespace: 'tb' },
    cacheFolder: join(data, 'caches/tb'),
    workFolder: join(data, 'cache'),
  })
  let output = ''
  const onOutput = (text: string): void => {
    output += text
  }
  const work = { onOutput, signal: new AbortController().signal }
  return { data, secret, source, builds, work, output: () => output }
}

t.test('builds as the user of the namespace', { skip }, async (t) => {
  const { source, builds, work, output } = await open(t)
  writeFileSync(join(source, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  writeFileSync(join(source, 'mx.yaml'), 'build: id -u; touch made\ncommand: ./run.sh\n')
  const input = { folder: source, allowScripts: false }
  t.match(await builds.build(input, work), { folder: source, command: ['./run.sh'] })
  t.match(output(), /\$ id -u; touch made\n200000\n/)
  t.equal(lstatSync(join(source, 'made')).uid, 200_000)

  writeFileSync(join(source, 'mx.yaml'), 'build: exit 3\ncommand: ./run.sh\n')
  const message = /^build failed: exit 3: exit status 3/
  await t.rejects(builds.build(input, work), { code: 400, message })
  await builds.prune()
})

t.test('copies links of a program without following them', { skip }, async (t) => {
  const { data, secret, source, builds, work } = await open(t)
  writeFileSync(join(source, '.hidden'), '')
  symlinkSync(data, join(source, 'folder'))
  symlinkSync(secret, join(source, 'file'))
  const copied = join(data, 'copied')
  await builds.copy(source, copied, work)
  t.strictSame(readdirSync(copied).sort(), ['.hidden', 'file', 'folder'])
  t.ok(lstatSync(join(copied, 'file')).isSymbolicLink())
  t.equal(readFileSync(secret, 'utf8'), 'secret')
})
