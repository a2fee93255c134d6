import t from 'tap'
import type { GatewayError } from '../../../core/errors.ts'
import { UploadWatchdog, type WatchedUpload } from '../../../core/listener/upload-watchdog.ts'

class FakeUpload implements WatchedUpload {
  bytesIn = 0
  isDone = false
  isAwaited = true
  checks = 0
  slow = 0

  onCheck(): void {
    this.checks++
  }

  abortWith({ code }: GatewayError): void {
    t.equal(code, 408)
    this.slow++
  }
}

function open() {
  const uploads = new UploadWatchdog()
  const upload = new FakeUpload()
  uploads.watch(upload)
  const runChecks = (times: number, bytesEach = 0): void => {
    for (let i = 0; i < times; i++) {
      upload.bytesIn += bytesEach
      uploads.check()
    }
  }
  return { uploads, upload, runChecks }
}

t.test('responds with 408 once to an upload without new data after ten checks', async (t) => {
  const { uploads, upload, runChecks } = open()
  runChecks(10)
  t.equal(upload.slow, 0)
  t.equal(upload.checks, 10)
  runChecks(1)
  t.equal(upload.slow, 1)
  t.equal(uploads.size, 0)
  runChecks(5)
  t.equal(upload.slow, 1)
})

t.test('rejects an upload below the minimum rate with 408', async (t) => {
  const { upload, runChecks } = open()
  runChecks(11, 50)
  t.equal(upload.slow, 1)
})

t.test('an upload at the minimum rate has no time limit', async (t) => {
  const { uploads, upload, runChecks } = open()
  runChecks(1000, 110)
  t.equal(upload.slow, 0)
  t.equal(upload.checks, 1000)
  upload.isDone = true
  runChecks(1)
  t.equal(uploads.size, 0)
})

t.test(
  'checks do not count while the client cannot send, and the count restarts afterwards',
  async (t) => {
    const { upload, runChecks } = open()
    runChecks(9)
    upload.isAwaited = false
    runChecks(100)
    upload.isAwaited = true
    runChecks(10)
    t.equal(upload.slow, 0, 'the full time is available again')
    runChecks(1)
    t.equal(upload.slow, 1)
  },
)

t.test('an unwatched upload is not checked', async (t) => {
  const { uploads, upload, runChecks } = open()
  uploads.unwatch(upload)
  runChecks(20)
  t.equal(upload.slow + upload.checks, 0)
})
