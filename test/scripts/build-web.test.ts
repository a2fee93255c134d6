import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FIRST_LOAD_MAX_BYTES, listFirstLoad } from '../../bench/dashboard/first-load.ts'
import { buildWeb } from '../../scripts/build-web.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const folder = makeTempFolder(t, 'build-web')
await buildWeb(folder)
const assets = readdirSync(join(folder, 'assets'))
const texts = ['index.html', ...assets.map((name) => `assets/${name}`)]
  .filter((name) => /\.(?:html|js|css|svg)$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))

t.test('the assets loaded before the first rendering are at most 60 KB compressed', async (t) => {
  const files = listFirstLoad(folder)
  t.ok(files.some(({ name }) => name.endsWith('.js')))
  t.ok(files.some(({ name }) => name.endsWith('.css')))
  const bytes = files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0)
  t.ok(bytes <= FIRST_LOAD_MAX_BYTES, `${bytes} bytes`)
})

t.test('asset names contain a content hash, and each asset has a .br and a .gz file', async (t) => {
  const plain = assets.filter((name) => !/\.(?:br|gz)$/.test(name))
  for (const name of plain) {
    t.match(name, /-[\w-]{8}\.\w+$/)
    for (const end of ['.br', '.gz']) t.ok(assets.includes(name + end), name + end)
  }
})

t.test('index.html has no inline script or style', async (t) => {
  const { text } = texts.find(({ name }) => name === 'index.html')!
  for (const [script] of text.matchAll(/<script[^>]*>[^<]*<\/script>/g))
    t.match(script, /^<script [^>]*src="[^"]+"><\/script>$/)
  t.notMatch(text, /<style|style=|\son\w+=/i)
})

t.test('assets load nothing from other origins and evaluate no text as code', async (t) => {
  for (const { name, text } of texts) {
    t.notMatch(text, /(?:src|href)="(?:https?:)?\/\//, name)
    t.notMatch(text, /url\((?!["']?(?:data:|#|\/|\.))/, name)
    t.notMatch(text, /@import|\bnew Function\b|\beval\(/, name)
    t.notMatch(text, /(?:fetch|import|WebSocket)\(["'`](?:https?|wss?):/, name)
  }
})
