/**
 * engram in memorybench: save as `src/providers/engram/index.ts`, register it in `src/providers/index.ts`, add
 * "engram" to `ProviderName`, and a case for it to `getProviderConfig`, whose key may be any. It calls the command line of langgraph-engram (`pip install langgraph-engram`), or what
 * ENGRAM_CLI names; no key is needed. A container is a user, each with a store of its own.
 */
import { spawn } from "node:child_process"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import type {
  IndexingProgressCallback,
  IngestOptions,
  IngestResult,
  Provider,
  ProviderConfig,
  SearchOptions,
} from "../../types/provider"
import type { UnifiedSession } from "../../types/unified"

const TOKENS = "2000"

export class EngramProvider implements Provider {
  name = "engram"
  concurrency = { default: 2, ingest: 1, indexing: 10 }

  private cli = process.env.ENGRAM_CLI ?? "engram"
  private home = "data/providers/engram"

  async initialize(config: ProviderConfig): Promise<void> {
    if (typeof config.storePath === "string") this.home = config.storePath
    await this.call(["--version"])
  }

  async ingest(sessions: UnifiedSession[], options: IngestOptions): Promise<IngestResult> {
    for (const session of sessions) {
      const date = session.metadata?.date as string | undefined
      const messages = session.messages.map((message) => ({
        role: message.speaker ? "user" : message.role, // of two friends neither is an assistant
        speaker: message.speaker ?? message.role,
        text: message.content,
        said_at: message.timestamp ?? date,
      }))
      const named = ["--session", session.sessionId, "--format", "messages", "--json"]
      await this.call(["remember", "-", ...named, ...this.scope(options.containerTag)], JSON.stringify(messages))
    }
    return { documentIds: sessions.map((session) => session.sessionId) }
  }

  /** What was remembered can be searched at once. */
  async awaitIndexing(result: IngestResult, _: string, onProgress?: IndexingProgressCallback): Promise<void> {
    onProgress?.({ completedIds: result.documentIds, failedIds: [], total: result.documentIds.length })
  }

  async search(query: string, options: SearchOptions): Promise<unknown[]> {
    const asked = ["recall", query, "--budget", TOKENS, "--json", ...this.scope(options.containerTag)]
    let found = await this.evidence([...asked, "--search"])
    // It may be a question of the world; here each is of the memory.
    if (!found.length) found = await this.evidence(asked)
    return found.slice(0, options.limit).map((passage) => ({ content: passage.text }))
  }

  async clear(containerTag: string): Promise<void> {
    await rm(this.store(containerTag), { recursive: true, force: true })
  }

  private async evidence(asked: string[]): Promise<{ text: string }[]> {
    return JSON.parse(await this.call(asked)).evidence
  }

  private store(containerTag: string): string {
    return join(this.home, encodeURIComponent(containerTag))
  }

  private scope(containerTag: string): string[] {
    return ["--user", containerTag, "--store", this.store(containerTag)]
  }

  private call(options: string[], input = ""): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.cli, options)
      let out = ""
      let err = ""
      child.stdout.on("data", (said) => (out += said))
      child.stderr.on("data", (said) => (err += said))
      child.on("error", reject)
      child.on("close", (code) => (code === 0 ? resolve(out) : reject(new Error(`engram ${options[0]}: ${err || out}`))))
      child.stdin.end(input)
    })
  }
}

export default EngramProvider
