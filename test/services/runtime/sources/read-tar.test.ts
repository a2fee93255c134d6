import { gzipSync } from 'node:zlib'
import t from 'tap'
import { readTar } from '../../../../services/runtime/sources/read-tar.ts'
import { makeTar, toChunks } from '../../../fixtures/tar.ts'

async function read(chunks: AsyncIterable<Uint8Array>, maxBytes = 100_000) {
  const result: [string, string][] = []
  for await (const item of readTar(chunks, maxBytes)) {
    if (item instanceof Uint8Array) result.at(-1)![1] += Buffer.from(item).toString()
    else result.push([item.path, ''])
  }
  return result
}

t.test('yields each entry followed by its content', async (t) => {
  const archive = makeTar([
    { path: 'a', content: 'one' },
    { path: 'b' },
    { path: 'c', content: '3' },
  ])
  const expected = [
    ['a', 'one'],
    ['b', ''],
    ['c', '3'],
  ]
  t.strictSame(await read(toChunks(archive, 7)), expected)
  t.strictSame(await read(toChunks(gzipSync(archive), 7)), expected)
})

t.test('rejects data after the end of an archive, but accepts zeros', async (t) => {
  const archive = makeTar([
    { path: 'a', content: 'x'.repeat(3000) },
    { path: 'b', content: Buffer.alloc(2048) },
    { path: 'c' },
  ])
  const second = makeTar([{ path: 'hidden', content: 'one' }])
  const following = {
    code: 400,
    message: 'data follows the end of the tar archive; create the archive again',
  }
  for (const length of [100, 512, 100_000]) {
    const twoArchives = Buffer.concat([archive, second])
    await t.rejects(read(toChunks(twoArchives, length)), following, `chunks of ${length}`)
    const withJunk = Buffer.concat([archive, Buffer.alloc(600), Buffer.from('junk')])
    await t.rejects(read(toChunks(withJunk, length)), following, `junk, chunks of ${length}`)
    const padded = Buffer.concat([archive, Buffer.alloc(10_000)])
    const names = (await read(toChunks(padded, length))).map(([name]) => name)
    t.strictSame(names, ['a', 'b', 'c'])
  }
  const members = Buffer.concat([gzipSync(archive), gzipSync(second)])
  await t.rejects(read(toChunks(members)), following, 'a second gzip member')
  const junk = Buffer.concat([gzipSync(archive), Buffer.from('junk')])
  await t.rejects(read(toChunks(junk)), { code: 400, message: /^not a gzip archive/ })
})

t.test('rejects a path with a NUL character instead of truncating it', async (t) => {
  const record = '13 path=a\0bc\n'
  const archive = makeTar([
    { path: 'PaxHeader', type: 'ExtendedHeader', content: record },
    { path: 'x', content: 'one' },
  ])
  await t.rejects(read(toChunks(archive)), {
    code: 400,
    message: 'not a tar archive: a path contains a NUL character',
  })
})

t.test('reads on demand', async (t) => {
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

t.test('rejects an archive that is too long', async (t) => {
  const archive = makeTar([{ path: 'a', content: 'x'.repeat(5000) }])
  await t.rejects(read(toChunks(gzipSync(archive)), 4000), { code: 413 })
})
