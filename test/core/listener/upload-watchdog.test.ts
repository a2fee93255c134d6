import t from 'tap'
import type { GatewayError } from '../../../core/errors.ts'
import { UploadWatchdog, type WatchedUpload } from '../../../core/listener/upload-watchdog.ts'

class FakeUpload implements WatchedUpload {
  bytesIn = 0
  isDone = false
  isAwaited = true
  looks = 0
  slow = 0

  onCheck(): void {
    this.looks++
  }

  giveUp({ code }: GatewayError): void {
    t.equal(code, 408)
    this.slow++
  }
}

function open() {
  const uploads = new UploadWatchdog()
  const upload = new FakeUpload()
  uploads.watch(upload)
  const look = (times: number, bytesEach = 0): void => {
    for (let i = 0; i < times; i++) {
      upload.bytesIn += bytesEach
      uploads.check()
    }
  }
  return { uploads, upload, look }
}

t.test('a body of which nothing more comes is given up after ten looks, once', async (t) => {
  const { uploads, upload, look } = open()
  look(10)
  t.equal(upload.slow, 0)
  t.equal(upload.looks, 10)
  look(1)
  t.equal(upload.slow, 1)
  t.equal(uploads.size, 0)
  look(5)
  t.equal(upload.slow, 1)
})

t.test('so is one that drips', async (t) => {
  const { upload, look } = open()
  look(11, 50)
  t.equal(upload.slow, 1)
})

t.test('one that goes on at the minimum pace may take as long as it likes', async (t) => {
  const { uploads, upload, look } = open()
  look(1000, 110)
  t.equal(upload.slow, 0)
  t.equal(upload.looks, 1000)
  upload.isDone = true
  look(1)
  t.equal(uploads.size, 0)
})

t.test('while it is not for its client to send, nothing is expected', async (t) => {
  const { upload, look } = open()
  look(9)
  upload.isAwaited = false
  look(100)
  upload.isAwaited = true
  look(10)
  t.equal(upload.slow, 0, 'and afterwards it has as long as at first')
  look(1)
  t.equal(upload.slow, 1)
})

t.test('one that is complete is looked at no more', async (t) => {
  const { uploads, upload, look } = open()
  uploads.unwatch(upload)
  look(20)
  t.equal(upload.slow + upload.looks, 0)
})
