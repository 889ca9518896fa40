// A Probot app as its users write one: the handler keeps the delivery (or nothing), and then Probot answers.
// KEEP names a SQLite file; without it nothing is kept.
import { createRequire } from "node:module";
import { Probot, Server } from "probot";

let keep = () => {};
if (process.env.KEEP) {
  const Database = createRequire(import.meta.url)("better-sqlite3");
  const database = new Database(process.env.KEEP);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec(
    "CREATE TABLE delivery (guid TEXT PRIMARY KEY, event TEXT NOT NULL, action TEXT, body TEXT NOT NULL, received_at TEXT NOT NULL)",
  );
  const insert = database.prepare("INSERT OR IGNORE INTO delivery VALUES (?, ?, ?, ?, ?)");
  keep = ({ id, name, payload }) =>
    insert.run(id, name, payload.action, JSON.stringify(payload), new Date().toISOString());
}

const server = new Server({
  Probot: Probot.defaults({
    appId: 1,
    privateKey: process.env.PRIVATE_KEY,
    secret: process.env.WEBHOOK_SECRET,
    logLevel: "error",
  }),
  host: "127.0.0.1",
  port: Number(process.env.PORT),
  webhookPath: "/webhook",
});
await server.load((app) => app.onAny(keep));
await server.start();
console.log(JSON.stringify({ port: Number(process.env.PORT) }));
process.stdin.on("end", () => process.exit(0)).resume();
