// A new issue from the list's box.
const form = document.querySelector("#new-issue");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(form));
  const answer = await fetch(`/_demo/${document.body.dataset.repo}/issues`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
  const body = await answer.json();
  if (answer.ok) {
    location.href = body.url;
    return;
  }
  const toast = document.querySelector("#toast");
  toast.textContent = body.message;
  toast.hidden = false;
});
