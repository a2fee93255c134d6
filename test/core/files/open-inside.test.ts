import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openInside } from '../../../core/files/open-inside.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

function build(t: Test): { root: string; outside: string } {
  const folder = makeTempFolder(t, 'inside')
  const [root, outside] = [join(folder, 'root'), join(folder, 'root-secret')]
  mkdirSync(join(root, 'sub'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(root, 'a.txt'), 'inside')
  writeFileSync(join(outside, 'b.txt'), 'outside')
  symlinkSync('../a.txt', join(root, 'sub/link'))
  symlinkSync(join(outside, 'b.txt'), join(root, 'leak'))
  symlinkSync(outside, join(root, 'folder'))
  symlinkSync('nowhere', join(root, 'dangling'))
  symlinkSync('loop', join(root, 'loop'))
  execFileSync('mkfifo', [join(root, 'pipe')])
  return { root, outside }
}

async function read(root: string, path: string): Promise<string> {
  const result = await openInside(root, path.split('/'))
  if (result === undefined || result === 'folder') return String(result)
  const text = await result.handle.readFile('utf8')
  await result.handle.close()
  return text
}

t.test('opens files and links inside the folder only', async (t) => {
  const { root } = build(t)
  const rows: [string, string][] = [
    ['a.txt', 'inside'],
    ['sub/link', 'inside'],
    ['sub', 'folder'],
    ['leak', 'undefined'],
    ['folder', 'undefined'],
    ['folder/b.txt', 'undefined'],
    ['dangling', 'undefined'],
    ['loop', 'undefined'],
    ['pipe', 'undefined'],
    ['none', 'undefined'],
    ['a.txt/b', 'undefined'],
    ['x'.repeat(300), 'undefined'],
  ]
  for (const [path, expected] of rows) t.equal(await read(root, path), expected, path)
})

t.test('follows a root that is a link to the current release', async (t) => {
  const { root } = build(t)
  const current = join(root, '../current')
  symlinkSync('root', current)
  t.equal(await read(current, 'a.txt'), 'inside')
})

t.test('never opens a file outside the folder while links are replaced', async (t) => {
  const { root, outside } = build(t)
  const link = join(root, 'moving')
  const swapLink = (target: string): void => {
    symlinkSync(target, `${link}.new`)
    renameSync(`${link}.new`, link)
  }
  swapLink('a.txt')
  let isDone = false
  const swapping = (async () => {
    for (let i = 0; !isDone; i++) {
      swapLink(i % 2 === 0 ? join(outside, 'b.txt') : 'a.txt')
      await new Promise(setImmediate)
    }
  })()
  const texts = new Map<string, number>()
  for (let i = 0; i < 500; i++) {
    const text = await read(root, 'moving')
    texts.set(text, (texts.get(text) ?? 0) + 1)
  }
  isDone = true
  await swapping
  t.notOk(texts.has('outside'))
  t.ok(texts.get('inside'), 'and opens the file while it is inside')
})
