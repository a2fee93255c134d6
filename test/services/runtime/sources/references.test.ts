import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  checkAddress,
  checkRef,
  isCommit,
  toRepositoryPlaces,
} from '../../../../services/runtime/sources/references.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test('accepts branches, tags and commits as references', async (t) => {
  for (const ref of ['latest', 'main', 'feature/x-1', 'v1.2.3', '0a1b2c3', 'a'.repeat(100)])
    t.doesNotThrow(() => checkRef(ref), ref)
  const bad = ['', '-x', '--upload-pack=x', 'a b', 'a..b', 'a:b', 'a~1', '/a', 'a/', 'a//b', 'a/.b']
  for (const ref of [...bad, 'a.lock', 'a.', 'a\n', '$(x)', 'a'.repeat(101)])
    t.throws(() => checkRef(ref), { code: 400, message: /invalid branch, tag or commit/ }, ref)
})

t.test('detects commits by their format', async (t) => {
  t.ok(isCommit('0a1b2c3'))
  t.ok(isCommit('f'.repeat(40)))
  for (const ref of ['0a1b2c', 'f'.repeat(41), 'main', 'ABCDEF0']) t.notOk(isCommit(ref), ref)
})

t.test('resolves an address to a repository and a folder', async (t) => {
  const at = (url: string, entrypoint = '') => ({ url, entrypoint })
  const places = (address: string, allowLocal = false) => toRepositoryPlaces(address, allowLocal)
  const hosted = [at('https://github.com/a/b')]
  t.strictSame(places('github.com/a/b'), hosted)
  t.strictSame(places('https://github.com/a/b/'), hosted)
  t.strictSame(places('github.com/a/b/c/d'), [at('https://github.com/a/b', 'c/d')])
  t.strictSame(places('https://git.x:8443/a.git/c'), [at('https://git.x:8443/a.git', 'c')])
  t.strictSame(places('git.example.org/a/b/c'), [
    at('https://git.example.org/a/b/c'),
    at('https://git.example.org/a/b', 'c'),
    at('https://git.example.org/a', 'b/c'),
  ])
  t.strictSame(places('http://localhost/a', true), [at('http://localhost/a')])
  t.strictSame(places('git@github.com:a/b.git', true), [at('ssh://git@github.com/a/b.git')])
  t.strictSame(places('ssh://me@github.com:22/a/b/c', true), [
    at('ssh://me@github.com:22/a/b', 'c'),
  ])
})

t.test('rejects invalid and disallowed addresses', async (t) => {
  const expectRejected = (address: string, message: RegExp) =>
    t.throws(() => checkAddress(address, false), { code: 400, message }, address)
  expectRejected('ssh://git@github.com/a/b', /it must be https/)
  expectRejected('http://github.com/a/b', /it must be https/)
  expectRejected('ext::sh', /has no host/)
  expectRejected('https://-oProxyCommand=x.y/a', /./)
  expectRejected('git://github.com/a/b', /it must be https/)
  expectRejected('git@github.com:a/b', /it must be https.*profile local/)
  expectRejected('helloworld', /has no host/)
  expectRejected('', /characters/)
  expectRejected('--upload-pack=x', /characters/)
  expectRejected('https://github.com/', /has no repository path/)
  expectRejected('/srv/repository', /profile local/)
  expectRejected('file:///srv/repository', /profile local/)
})

t.test('redacts possible tokens in errors', async (t) => {
  try {
    checkAddress('https://me:s3cret@github.com/a/b', false)
    t.fail('rejected')
  } catch (error) {
    t.match(error, { message: /git\.credentials/ })
    t.notMatch((error as Error).message, /s3cret/)
  }
})

t.test('resolves a local path to its repository', async (t) => {
  const folder = makeTempFolder(t, 'references')
  mkdirSync(join(folder, 'repo', '.git'), { recursive: true })
  mkdirSync(join(folder, 'repo', 'a', 'b'), { recursive: true })
  const url = `file://${folder}/repo`
  t.strictSame(toRepositoryPlaces(join(folder, 'repo'), true), [{ url, entrypoint: '' }])
  t.strictSame(toRepositoryPlaces(`file://${folder}/repo/a/b`, true), [{ url, entrypoint: 'a/b' }])
  t.throws(() => toRepositoryPlaces(folder, true), { code: 400, message: /no git repository in/ })
  t.throws(() => toRepositoryPlaces('file://host/a', true), { code: 400 })
  for (const address of [
    'git://host.x/a',
    'ext::sh',
    'ssh://-oProxyCommand=x.y/a',
    'ssh://a:b@host.x/a',
  ])
    t.throws(() => toRepositoryPlaces(address, true), { code: 400 }, address)
})
