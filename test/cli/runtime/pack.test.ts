import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Parser, type ReadEntry } from 'tar'
import { listFiles } from '../../../cli/runtime/list-files.ts'
import { pack } from '../../../cli/runtime/pack.ts'

interface Entry {
  readonly type: string
  readonly mode: number
  readonly text: string
}

/** Packs a folder and returns entries, chunks and reported sizes. */
async function packFolder(root: string) {
  const { files } = await listFiles(root)
  const chunks: Buffer[] = []
  let bytes = 0
  const onFile = (size: number) => {
    bytes += size
  }
  for await (const chunk of pack(root, files, onFile)) chunks.push(chunk)
  const entries = new Map<string, Entry>()
  const parser = new Parser({ strict: true })
  parser.on('entry', (entry: ReadEntry) => {
    const { path, type, mode = 0 } = entry
    let text = ''
    entry.on('data', (chunk) => {
      text += chunk
    })
    entry.on('end', () => entries.set(path, { type, mode, text }))
  })
  const ended = new Promise((resolve) => parser.on('end', resolve))
  for (const chunk of chunks) parser.write(chunk)
  parser.end()
  await ended
  return { files, chunks, bytes, entries }
}

t.test('an empty folder is packed, without ignored files of other folders', async (t) => {
  const root = t.testdir({ '.gitignore': '*.log\n', empty: {}, data: { 'a.log': 'secret' } })
  const { entries } = await packFolder(root)
  t.same([...entries.keys()], ['.gitignore', 'empty/'])
  t.equal(entries.get('empty/')!.type, 'Directory')
})

t.test('an archive contains each file with its mode, in chunks of 256 kB', async (t) => {
  const root = t.testdir({ 'main.ts': 'abc', '@scope': { 'index.js': 'x' }, run: '#!/bin/sh' })
  const long = 'folder/'.repeat(20)
  mkdirSync(join(root, long), { recursive: true })
  writeFileSync(join(root, long, 'bäh.ts'), 'deep')
  writeFileSync(join(root, 'noise'), randomBytes(1_000_000))
  chmodSync(join(root, 'run'), 0o755)

  const { files, chunks, bytes, entries } = await packFolder(root)
  t.ok(chunks.length >= 3)
  t.ok(chunks.slice(0, -1).every(({ length }) => length >= 256 * 1024))
  const sum = files.reduce((total, file) => total + file.bytes, 0)
  t.equal(bytes, sum, 'the size of each file is reported')
  t.same([...entries.keys()].sort(), files.map(({ path }) => path).sort())
  t.ok([...entries.values()].every(({ type }) => type === 'File'))
  t.equal(entries.get('@scope/index.js')?.text, 'x')
  t.equal(entries.get(`${long}bäh.ts`)?.text, 'deep')
  t.equal(entries.get('run')!.mode & 0o111, 0o111)
  t.equal(entries.get('main.ts')!.mode & 0o111, 0)
})

t.test('links are packed as the files they point to', async (t) => {
  const root = t.testdir({ 'main.ts': 'abc' })
  symlinkSync('main.ts', join(root, 'soft.ts'))
  linkSync(join(root, 'main.ts'), join(root, 'hard.ts'))
  const { entries } = await packFolder(root)
  for (const name of ['main.ts', 'soft.ts', 'hard.ts'])
    t.match(entries.get(name), { type: 'File', text: 'abc' })
})
