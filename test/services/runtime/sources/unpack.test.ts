import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { type UnpackLimits, unpackSource } from '../../../../services/runtime/sources/unpack.ts'
import { makeTar, type TarEntry, toChunks } from '../../../fixtures/tar.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test('writes files and folders and preserves the executable bit', async (t) => {
  const folder = join(makeTempFolder(t, 'unpack'), 'new', 'source')
  const long = `${'a'.repeat(90)}/${'b'.repeat(90)}.txt`
  const archive = makeTar([
    { path: './', type: 'Directory' },
    { path: 'empty/', type: 'Directory' },
    { path: './src/main.ts', content: 'main' },
    { path: 'src/empty.ts' },
    { path: 'run', content: '#!/bin/sh\n', mode: 0o4777 },
    { path: long, content: 'x'.repeat(70_000) },
  ])
  for (const bytes of [archive, gzipSync(archive)]) {
    for (const length of [13, 511, 100_000]) {
      const place = `${folder}-${bytes.length}-${length}`
      await unpackSource(toChunks(bytes, length), place)
      t.equal(readFileSync(join(place, 'src/main.ts'), 'utf8'), 'main')
      t.equal(readFileSync(join(place, 'src/empty.ts'), 'utf8'), '')
      t.equal(statSync(join(place, long)).size, 70_000)
      t.strictSame(readdirSync(join(place, 'empty')), [])
      t.equal(statSync(join(place, 'run')).mode & 0o7777, 0o755)
      t.equal(statSync(join(place, 'src/main.ts')).mode & 0o111, 0)
    }
  }
})

/** Error of an invalid archive, which must leave no files behind. */
async function expectRejected(t: Test, bytes: Uint8Array, limits?: UnpackLimits) {
  const rejected = makeTempFolder(t, 'unpack')
  const folder = join(rejected, 'source')
  let result: unknown
  await unpackSource(toChunks(bytes), folder, limits).catch((error: unknown) => {
    result = error
  })
  t.strictSame(readdirSync(rejected), [], 'no files remain')
  return result
}

t.test('rejects entries that lead out of the folder with their names', async (t) => {
  const attacks: readonly (readonly [TarEntry, RegExp])[] = [
    [{ path: '/etc/passwd', content: 'x' }, /"\/etc\/passwd", but paths must be relative/],
    [{ path: '../outside', content: 'x' }, /"\.\.\/outside", which points outside/],
    [{ path: 'a/../../outside', content: 'x' }, /which points outside/],
    [{ path: 'a\\..\\outside', content: 'x' }, /contains invalid characters/],
    [{ path: 'C:/windows', content: 'x' }, /contains invalid characters/],
    [{ path: 'a\nb', content: 'x' }, /contains invalid characters/],
    [{ path: 'link', type: 'SymbolicLink', linkpath: '/etc' }, /contains link, a SymbolicLink/],
    [{ path: 'link', type: 'SymbolicLink', linkpath: 'main.ts' }, /contains link, a SymbolicLink/],
    [{ path: 'hard', type: 'Link', linkpath: '/etc/passwd' }, /contains hard, a Link/],
    [{ path: 'dev', type: 'CharacterDevice' }, /contains dev, a CharacterDevice/],
    [{ path: 'dev', type: 'BlockDevice' }, /contains dev, a BlockDevice/],
    [{ path: 'pipe', type: 'FIFO' }, /contains pipe, a FIFO/],
    [{ path: `${'d/'.repeat(65)}x`, content: 'x' }, /exceeds the limit of 64 nested folders/],
  ]
  for (const [entry, message] of attacks) {
    const archive = makeTar([{ path: 'main.ts', content: 'x' }, entry])
    t.match(await expectRejected(t, archive), { code: 400, id: 'runtime', message }, entry.path)
  }
})

t.test('writes nothing through a link followed by a file', async (t) => {
  const outside = makeTempFolder(t, 'outside')
  const archive = makeTar([
    { path: 'a', type: 'SymbolicLink', linkpath: outside },
    { path: 'a/file', content: 'x' },
  ])
  t.match(await expectRejected(t, archive), { code: 400 })
  t.strictSame(readdirSync(outside), [])
})

t.test('rejects a duplicate name', async (t) => {
  const duplicate = { code: 400, message: /duplicate path/ }
  t.match(await expectRejected(t, makeTar([{ path: 'a' }, { path: 'a' }])), duplicate)
  t.match(await expectRejected(t, makeTar([{ path: 'a' }, { path: 'a/b' }])), duplicate)
  t.match(await expectRejected(t, makeTar([{ path: 'a/b' }, { path: 'a' }])), duplicate)
  // The same name in composed and decomposed form.
  t.match(await expectRejected(t, makeTar([{ path: '\u00e9' }, { path: 'e\u0301' }])), duplicate)
})

t.test('rejects too many or too large files based on their header', async (t) => {
  const many = makeTar(Array.from({ length: 30 }, (_, i) => ({ path: `f${i}` })))
  const limits = { maxFiles: 20, maxFileBytes: 1000, maxBytes: 3000 }
  t.match(await expectRejected(t, many, limits), {
    code: 413,
    message: /more than 20 files and folders/,
  })
  const deep = makeTar([{ path: `${'d/'.repeat(30)}x` }])
  t.match(await expectRejected(t, deep, limits), { code: 413, message: /more than 20 files/ })
  const large = makeTar([{ path: 'large', content: 'x'.repeat(1001) }])
  t.match(await expectRejected(t, large, limits), { code: 413, message: /large with 1001 bytes/ })
  const claim = makeTar([{ path: 'claim', size: 1_000_000_000 }])
  t.match(await expectRejected(t, claim, limits), {
    code: 413,
    message: /claim with 1000000000 bytes/,
  })
  const all = makeTar(['a', 'b', 'c', 'd'].map((path) => ({ path, content: 'x'.repeat(900) })))
  t.match(await expectRejected(t, all, limits), { code: 413, message: /more than 3000/ })
})

t.test('stops decompressing a bomb at the limit', async (t) => {
  const limits = { maxFiles: 10, maxBytes: 100_000 }
  // Consecutive extended headers for unused names.
  const header = makeTar([{ path: 'h', type: 'ExtendedHeader', content: '20 comment=xxxxxxxx\n' }])
  const headers = Buffer.concat(Array.from({ length: 1000 }, () => header.subarray(0, 1024)))
  const bomb = gzipSync(headers)
  t.ok(bomb.length < 20_000)
  t.match(await expectRejected(t, bomb, limits), {
    code: 413,
    message: /exceeds the limit of .* bytes, uncompressed/,
  })
})

t.test('rejects a file that is not an archive or is truncated', async (t) => {
  const archive = makeTar([{ path: 'main.ts', content: 'x'.repeat(3000) }])
  t.match(await expectRejected(t, Buffer.from('hello')), {
    code: 400,
    message: /not a tar archive/,
  })
  t.match(await expectRejected(t, Buffer.alloc(0)), { code: 400, message: /not a tar archive/ })
  t.match(await expectRejected(t, Buffer.alloc(5000, 7)), {
    code: 400,
    message: /not a tar archive/,
  })
  t.match(await expectRejected(t, archive.subarray(0, 2000)), { code: 400, message: /Truncated/ })
  t.match(await expectRejected(t, archive.subarray(0, 3584)), {
    code: 400,
    message: /is truncated/,
  })
  t.match(await expectRejected(t, gzipSync(archive).subarray(0, 50)), {
    code: 400,
    message: /not a gzip archive/,
  })
  t.match(await expectRejected(t, gzipSync(gzipSync(archive))), {
    code: 400,
    message: /not a tar archive/,
  })
})

t.test(
  'forwards the error of a failed sender and does not modify an existing folder',
  async (t) => {
    const rejected = makeTempFolder(t, 'unpack')
    const archive = makeTar([{ path: 'main.ts', content: 'x' }])
    for (const bytes of [archive, gzipSync(archive)]) {
      async function* fail() {
        yield bytes.subarray(0, 60)
        throw new Error('sender failed')
      }
      await t.rejects(unpackSource(fail(), join(rejected, 'source')), { message: 'sender failed' })
      t.notOk(existsSync(join(rejected, 'source')))
    }
    mkdirSync(join(rejected, 'there', 'kept'), { recursive: true })
    await t.rejects(unpackSource(toChunks(archive), join(rejected, 'there')), { code: 'EEXIST' })
    t.ok(existsSync(join(rejected, 'there', 'kept')))
  },
)
