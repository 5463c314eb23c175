"use strict";

async function show() {
    const answer = await fetch("status.json");
    document.getElementById("status").textContent = JSON.stringify(await answer.json(), null, 2);
}

show();
