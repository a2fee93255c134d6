import type { Page } from 'playwright-core'
import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { waitForValue } from '../../fixtures/becomes.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { type Files, openDeployer } from '../../fixtures/deployer.ts'
import { watchWork } from '../../fixtures/page-work.ts'
import { openReplaced } from '../../fixtures/replaced-answers.ts'
import { openClient } from '../../fixtures/sdk-services.ts'

const XSS = '<img src=x onerror="document.title=1">'
const COUNT = 12_000
/** Number of lines in the page's buffer. */
const RETAINED_LINES = 10_000
/** Maximum main thread time for 20 000 lines, the output of two seconds. */
const WORK_MAX_MS = 1500

/** Writes lines at startup, and more on request. */
const WRITER: Files = {
  'mx.yaml': 'command: node main.cjs\nprotocol: http\nbuild: echo built it\n',
  'main.cjs': `
let n = 0
const write = (count) => {
  let text = ''
  for (let i = 0; i < count; i++) text += 'line ' + ++n + (n % 1000 === 0 ? ' Needle\\n' : '\\n')
  process.stdout.write(text)
}
write(${COUNT})
require('node:http')
  .createServer((request, reply) => {
    const wanted = request.url.split('/').at(-1)
    if (wanted === 'json') console.log(JSON.stringify({ level: 30, msg: 'x'.repeat(700), end: 'here' }))
    else if (wanted === 'markup') console.error(${JSON.stringify(`\x1b[31m${XSS}\x1b[0m`)})
    else write(Number(wanted))
    reply.end('{}')
  })
  .listen(process.env.PORT, '127.0.0.1')
`,
}

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

t.test('the runtime pages', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server, context } = opened
  const client = openClient(t, { proxy: server.proxy, token: server.token })
  const deployer = openDeployer(t, client)
  const lines = page.locator('.log-line')
  const writeLines = (count: number) => server.get(`/writer/${count}`)

  t.test('show an empty state, and instances as soon as they run', async (t) => {
    await page.goto('/runtime')
    await page.getByText('No deployed services').waitFor()
    await deployer.create('writer', WRITER)
    await row(page, 'writer').getByText('running').waitFor()
    await checkAccessibility(t, page, 'runtime')
    await page.getByRole('link', { name: 'writer' }).click()
    await page.getByRole('heading', { name: 'writer@latest' }).waitFor()
    t.match(page.url(), /\/runtime\/writer\?version=latest$/)
  })

  t.test('show the end of a log and follow it with bounded memory', async (t) => {
    await page.getByText(`${RETAINED_LINES} lines`).waitFor()
    t.ok((await lines.count()) < 100, 'only visible lines of a long log are rendered')

    const readWorkMs = await watchWork(context, page)
    for (let i = 1; i <= 10; i++) await writeLines(2000)
    await lines
      .getByText(`line ${COUNT + 20_000}`, { exact: false })
      .first()
      .waitFor()
    await page.getByText(`${RETAINED_LINES} lines, 20000 older`).waitFor()
    t.ok((await lines.count()) < 100)
    const workMs = await readWorkMs()
    t.ok(workMs <= WORK_MAX_MS, `${Math.round(workMs)} ms of main thread time`)

    const session = await context.newCDPSession(page)
    await session.send('HeapProfiler.collectGarbage')
    const { usedSize } = await session.send('Runtime.getHeapUsage')
    t.comment(`${Math.round(usedSize / 1e6)} MB of heap`)
    t.ok(usedSize < 40e6, `${usedSize} bytes`)
  })

  t.test('stop following while the user scrolls back', async (t) => {
    const logRegion = page.getByRole('region', { name: 'Log lines' })
    await logRegion.hover()
    await page.mouse.wheel(0, -4000)
    const follow = page.getByRole('button', { name: 'Follow' })
    await page.locator('button[aria-pressed=false]', { hasText: 'Follow' }).waitFor()
    await page.evaluate(WAIT_UNTIL_STABLE)
    const before = await lines.first().textContent()
    await writeLines(500)
    await page.getByText('20500 older').waitFor()
    await waitForValue(t, () => lines.first().textContent(), before, 'the same lines are in view')
    await follow.click()
    await lines.getByText(`line ${COUNT + 20_500}`).waitFor()
  })

  t.test('search a log while it grows', async (t) => {
    const search = page.getByRole('searchbox', { name: 'Search log' })
    await search.fill('needle')
    await page.getByText('10 matches', { exact: true }).waitFor()
    await search.press('Enter')
    await page.getByText('1 of 10 matches').waitFor()
    await page.locator('.log-line.is-current mark').waitFor()
    await checkAccessibility(t, page, 'runtime-log')
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.getByText('10 of 10 matches').waitFor()
    await page.getByRole('checkbox', { name: 'Matching lines only' }).check()
    await waitForValue(t, () => lines.count(), 10)
    await search.fill('<img')
    await server.get('/writer/markup')
    await lines.filter({ hasText: XSS }).waitFor()
    t.equal(await page.locator('main img').count(), 0, 'markup is rendered as text')
    t.notMatch(await lines.textContent(), /\x1b/, 'without terminal colors')
    await search.fill('"end":"here"')
    await server.get('/writer/json')
    await lines.filter({ hasText: '"end":"here"' }).waitFor()
    const sizes = (await page.evaluate(`(() => {
      const [box, line] = ['.log-lines', '.log-line'].map((each) => document.querySelector(each))
      return {
        beside: box.scrollWidth - box.clientWidth,
        below: line.querySelector('.log-text').offsetHeight - line.clientHeight,
        rows: line.clientHeight / 20,
      }
    })()`)) as Readonly<Record<'beside' | 'below' | 'rows', number>>
    t.equal(sizes.beside, 0, 'a long line wraps')
    t.ok(sizes.below <= 0, 'all of its rows are displayed')
    t.ok(sizes.rows >= 5 && sizes.rows <= 9, `${sizes.rows} rows`)
    await search.fill('no such thing')
    await page.getByText('no matches').waitFor()
    await search.fill('')
    await page.getByRole('checkbox', { name: 'Matching lines only' }).uncheck()
  })

  t.test('resume a log after access was denied temporarily', async (t) => {
    const rule = {
      ...{ id: 'no-logs', scope: '*', access: 'DENIED', priority: 10 },
      resource: { type: 'service', name: 'runtime', endpoint: 'Runtime.Logs' },
    }
    await client.call('auth', 'Rules.Create', { rule })
    await page.getByRole('alert').getByText('Forbidden: log of writer').waitFor()
    await page.getByText(`${RETAINED_LINES} lines, 20502 older`).waitFor()
    await writeLines(3)
    await client.call('auth', 'Rules.Delete', { id: 'no-logs' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('20505 older').waitFor()
    t.equal(await page.getByText('Forbidden: log of writer').count(), 0)
  })

  t.test('show the build output and all details', async () => {
    await page.getByRole('tab', { name: 'Build' }).click()
    await page.getByText('built it').first().waitFor()
    await page.getByRole('tab', { name: 'Details' }).click()
    await page.getByText('source://writer:latest').waitFor()
  })

  t.test('show members the parts that require administrator rights', async (t) => {
    const ann = { id: 'ann', secret: 'ann-secret' }
    await client.call('auth', 'Auth.Generate', { ...ann, scopes: ['reader'] })
    const path = '/runtime/writer?version=latest'
    const { page } = (await openDashboard(t, { server, account: ann, path }))!
    await page
      .getByText('Viewing the log and managing the object require the admin scope')
      .waitFor()
    t.ok(await page.getByRole('button', { name: 'Kill' }).isDisabled())
    await page.getByRole('alert').getByText('Forbidden: log of writer').waitFor()
    await checkAccessibility(t, page, 'runtime-forbidden')
    await page.getByRole('link', { name: 'Runtime' }).click()
    await row(page, 'writer').getByText('running').waitFor()
  })

  t.test('restart, roll back and report failures', async (t) => {
    const confirm = async (name: string): Promise<void> => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
    }
    await confirm('Roll back')
    const dialog = page.getByRole('dialog')
    await dialog
      .getByText('no previous revision')
      .or(dialog.getByText(/rolled back to/))
      .waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    const [before] = await deployer.read()
    await confirm('Restart')
    await page.getByText('writer restart started').waitFor()
    const after = await deployer.settled('writer')
    t.not(after.metadata['started'], before!.metadata['started'])
    await confirm('Rebuild')
    await page.getByText('writer rebuild started').waitFor()
    const built = await deployer.settled('writer')
    t.equal(built.status, 4)
    t.not(built.metadata['build'], before!.metadata['build'])
  })

  t.test('update to the newest commit of a branch', async (t) => {
    const path = '/runtime/writer?version=latest'
    const branch = await openReplaced(context, path, { 'source://': 'https:///' })
    await branch.getByRole('button', { name: 'Update', exact: true }).click()
    t.equal(await branch.getByRole('button', { name: 'Restart' }).count(), 0)
    const dialog = branch.getByRole('dialog', { name: 'Update writer@latest?' })
    await dialog.getByText('Fetches the latest code of this version').waitFor()
    const [before] = await deployer.read()
    await dialog.getByRole('button', { name: 'Update' }).click()
    await branch.getByText('writer update started').waitFor()
    const after = await deployer.settled('writer')
    t.not(after.metadata['started'], before!.metadata['started'])
    await branch.close()
  })

  t.test('stop all streams when the page is left', async () => {
    await page.goto('/runtime/writer?version=latest')
    await lines.first().waitFor()
    // Browsers fire scroll events in the next frame.
    await page.evaluate(`(() => {
      document.querySelector('.log-lines').scrollTop -= 200
      document.querySelector('nav a[href="/"]').click()
    })()`)
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.evaluate('new Promise((next) => setTimeout(() => requestAnimationFrame(next), 50))')
    await page.goBack()
    await lines.first().waitFor()
  })

  t.test('kill an instance', async (t) => {
    await page.getByRole('button', { name: 'Kill', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Kill', exact: true }).click()
    await page.getByText('writer killed').waitFor()
    await page.getByText('writer@latest not found').waitFor()
    t.same(await deployer.read(), [])
  })
})

/** Resolves when the log has not scrolled for some frames, since browsers scroll in steps. */
const WAIT_UNTIL_STABLE = `new Promise((resolve) => {
  const box = document.querySelector('.log-lines')
  let [top, frames] = [box.scrollTop, 0]
  const look = () => {
    frames = box.scrollTop === top ? frames + 1 : 0
    top = box.scrollTop
    if (frames === 10) resolve()
    else requestAnimationFrame(look)
  }
  look()
})`
