import { gzipSync } from 'node:zlib'
import t from 'tap'
import { readTar } from '../../../../services/runtime/sources/read-tar.ts'
import { makeTar, toChunks } from '../../../fixtures/tar.ts'

async function read(chunks: AsyncIterable<Uint8Array>, maxBytes = 100_000) {
  const found: [string, string][] = []
  for await (const item of readTar(chunks, maxBytes)) {
    if (item instanceof Uint8Array) found.at(-1)![1] += Buffer.from(item).toString()
    else found.push([item.path, ''])
  }
  return found
}

t.test('every entry is followed by its content', async (t) => {
  const archive = makeTar([
    { path: 'a', content: 'one' },
    { path: 'b' },
    { path: 'c', content: '3' },
  ])
  const wanted = [
    ['a', 'one'],
    ['b', ''],
    ['c', '3'],
  ]
  t.strictSame(await read(toChunks(archive, 7)), wanted)
  t.strictSame(await read(toChunks(gzipSync(archive), 7)), wanted)
})

t.test('no more is read than was taken', async (t) => {
  let sent = 0
  async function* send() {
    const archive = makeTar(
      Array.from({ length: 100 }, (_, i) => ({ path: `f${i}`, content: 'x' })),
    )
    for await (const chunk of toChunks(archive, 1024)) {
      sent++
      yield chunk
    }
  }
  const entries = readTar(send(), 1_000_000)
  await entries.next()
  t.equal(sent, 1)
  await entries.return(undefined)
})

t.test('an archive that is too long is given up', async (t) => {
  const archive = makeTar([{ path: 'a', content: 'x'.repeat(5000) }])
  await t.rejects(read(toChunks(gzipSync(archive)), 4000), { code: 413 })
})
